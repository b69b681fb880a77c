# syntax=docker/dockerfile:1

FROM rust:1.95-slim-bookworm AS build
WORKDIR /build
# The dependencies first, under an empty program: this layer is built again only when they change.
COPY Cargo.toml Cargo.lock ./
RUN mkdir src && echo 'fn main() {}' > src/main.rs && touch src/lib.rs \
    && cargo build --release --locked \
    && rm -r src
COPY templates templates
COPY src src
# The copied files may be older than the empty program's.
RUN touch src/main.rs src/lib.rs && cargo build --release --locked

FROM debian:bookworm-slim
# Certificate authorities, for rediss://. Time zones are built in.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 7070 solocron \
    && useradd --system --uid 7070 --gid solocron --home-dir /var/lib/solocron --shell /usr/sbin/nologin solocron \
    && install -d -o solocron -g solocron -m 0750 /var/lib/solocron \
    && install -d /etc/solocron \
    # No job becomes root by a program of the image.
    && find / -xdev -perm /6000 -type f -exec chmod a-s {} +
COPY --from=build /build/target/release/solocron /usr/local/bin/solocron
# By number: Kubernetes' runAsNonRoot asks for one.
USER 7070:7070
WORKDIR /var/lib/solocron
ENV SOLOCRON_STATE_DIR=/var/lib/solocron SOLOCRON_LISTEN=0.0.0.0:7070
EXPOSE 7070
VOLUME /var/lib/solocron
# As PID 1 it passes signals on and reaps what jobs leave behind: no tini or --init is needed. SIGTERM drains: give it
# the time, `docker stop --time 45`.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/solocron"]
CMD ["run"]
