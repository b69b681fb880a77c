// Keeps a page as it is now: replaces the parts that the server sends, counts times on by the server's clock, and takes keys.
// The page works without it.
const body = document.body;
const base = body.dataset.base;
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
let ahead = Number(body.dataset.now) - Date.now();
const now = () => Date.now() + ahead;

// Times.
const pair = (all, large, small, a, b) => {
  const rest = Math.floor(all % large / small);
  return Math.floor(all / large) + a + (rest ? ' ' + rest + b : '');
};
const span = s => s < 60 ? s + 's' : s < 3600 ? pair(s, 60, 1, 'm', 's') : s < 86400 ? pair(s, 3600, 60, 'h', 'm')
  : pair(s, 86400, 3600, 'd', 'h');
const distance = (at, t) => {
  const s = (t - at) / 1000;
  return Math.abs(s) < 1 ? 'now' : s > 0 ? span(Math.floor(s)) + ' ago' : 'in ' + span(Math.round(-s));
};
const two = n => String(n).padStart(2, '0');
const utc = d => d.toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
const local = d => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` + d.toTimeString().slice(0, 8) +
  ' ' + (new Intl.DateTimeFormat([], { timeZoneName: 'short' }).formatToParts(d).find(p => p.type === 'timeZoneName') || {}).value;
let isLocal = false;
const absolute = at => (isLocal ? local : utc)(new Date(at));
const set = (element, text) => { if (element.textContent !== text) element.textContent = text; };
const tick = root => {
  const t = now();
  for (const time of $$('time', root)) {
    const at = Date.parse(time.dateTime);
    const is = name => time.classList.contains(name);
    if (is('rel')) set(time, distance(at, t));
    else if (is('due')) set(time, (at > t ? '' : 'due ') + distance(at, t));
    else if (is('dur')) set(time, span(Math.max(0, Math.floor((t - at) / 1000))));
    else set(time, absolute(time.closest('.store-time') ? t : at));
    const title = absolute(at);
    if (!is('abs') && time.title !== title) time.title = title;
  }
};

// Parts.
const waiting = new Map();
let isHeld = false;
// What somebody points at, writes in or has marked stays as it is. Fingers leave no pointer behind that moves away.
const isBusy = part => $$('form :focus', part).length > 0 || $$('input', part).some(field => field.value !== field.defaultValue) ||
  part.id === 'timeline' && (part.contains(document.activeElement) || matchMedia('(hover: hover)').matches && part.matches(':hover')) ||
  !document.getSelection().isCollapsed && document.getSelection().containsNode(part, true);
const made = html => {
  const template = document.createElement('template');
  template.innerHTML = html;
  return template.content.firstElementChild;
};
const place = (id, html) => {
  const old = document.getElementById(id);
  if (!old) return;
  if (isHeld || isBusy(old)) { waiting.set(id, html); return; }
  waiting.delete(id);
  const part = made(html);
  if (!part || part.id !== id) return;
  $$('details', old).forEach((details, at) => { const same = $$('details', part)[at]; if (same) same.open = details.open; });
  const focus = old.contains(document.activeElement) && document.activeElement;
  old.replaceWith(part);
  tick(part);
  // The same link or button of the new part has the focus.
  const same = focus && $$(focus.tagName, part).find(e => (e.href || e.textContent) === (focus.href || focus.textContent));
  if (same) same.focus({ preventScroll: true });
  mark();
};
const placeWaiting = () => { for (const [id, html] of [...waiting]) place(id, html); };

// The output of a run that goes on.
const log = $('pre[data-next]');
const toEnd = () => { log.scrollTop = log.scrollHeight; };
const append = html => {
  const piece = made(html);
  const follows = !isHeld && log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
  log.dataset.next = piece.dataset.next;
  log.append(...piece.childNodes);
  while (log.childElementCount > 2000) log.firstElementChild.remove();
  if (follows) toEnd();
};

// The stream of changes.
const news = $('#news');
let last = now(), heard = performance.now();
let stream;
const HELD = 'Held still: press p to go on.';
const say = text => { news.hidden = !text; set(news, text); };
const silence = () => performance.now() - heard;
const lose = () => {
  body.classList.add('stale');
  say(`No news since ${absolute(last)}, trying again.`);
};
const take = (name, data) => {
  heard = performance.now();
  if (name === 'now') ahead = Number(data) - Date.now();
  last = now();
  if (name === 'part') {
    const id = /^<[^>]* id="([^"]+)"/.exec(data);
    if (id) place(id[1], data);
  }
  if (log && name === 'output') append(data);
  if (log && /^(note|over)$/.test(name)) set($('#output-note'), data);
  if (log && name === 'over') delete log.dataset.next;
  if (name === 'bye') return true;
  body.classList.remove('stale');
  say(isHeld ? HELD : '');
};
const read = async () => {
  stream = new AbortController();
  const headers = { Accept: 'text/event-stream', 'X-Parts': body.dataset.parts };
  if (log?.dataset.next) headers['X-Output'] = log.dataset.next;
  const reply = await fetch(location.href, { headers, signal: stream.signal, cache: 'no-store' });
  if (reply.status === 401 || reply.redirected) { location.reload(); return; }
  if (!reply.ok || !/event-stream/.test(reply.headers.get('content-type'))) throw new Error(reply.status);
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      let name = 'message';
      const data = [];
      for (const line of text.slice(0, end).split('\n')) {
        if (line.startsWith('event:')) name = line.slice(6).trim();
        else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
      }
      if (take(name, data.join('\n'))) return;
    }
  }
};
let again;
const listen = () => {
  clearTimeout(again);
  if (document.hidden || !body.dataset.parts || stream) return;
  read().catch(() => {}).finally(() => {
    stream = undefined;
    // Parts have changed since, and the page of another replica is other parts: all are sent.
    body.dataset.parts = 'none';
    if (document.hidden) return;
    if (silence() > 2000) lose();
    again = setTimeout(listen, 1000 + Math.random() * 500);
  });
};
addEventListener('visibilitychange', () => { if (document.hidden) stream?.abort(); else listen(); });
addEventListener('pagehide', () => stream?.abort());
addEventListener('pageshow', event => { if (event.persisted) listen(); });

// Copying. Over plain http there is no clipboard but the old one.
addEventListener('click', async event => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  const text = $('.message', button.closest('li') || button.parentNode).textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    field.className = 'hide';
    body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
    button.focus({ preventScroll: true });
  }
  set(button, 'copied');
  setTimeout(() => set(button, 'copy'), 2000);
});

// Keys.
const rows = () => $$('table.jobs tbody tr, table.ticks tbody tr, #troubles li');
let current = '';
const mark = () => rows().forEach(row => row.classList.toggle('current', !!current && row.id === current));
const move = by => {
  const all = rows().filter(row => row.id);
  const at = all.findIndex(row => row.id === current);
  const row = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!row) return;
  current = row.id;
  mark();
  row.scrollIntoView({ block: 'nearest' });
};
const theme = name => { if (name) document.documentElement.dataset.theme = name; };
const stored = (name, value) => {
  try { return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value); } catch { return null; }
};
const keys = {
  '/': () => { const field = $('#q'); if (field) { field.focus(); field.select(); } else location.href = base + '/#q'; },
  j: () => move(1),
  k: () => move(-1),
  Enter: () => { const link = current && $('a', document.getElementById(current)); if (link) link.click(); },
  t: () => {
    const isDark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    theme(isDark ? 'light' : 'dark');
    stored('theme', isDark ? 'light' : 'dark');
  },
  p: () => { isHeld = !isHeld; say(isHeld ? HELD : ''); if (!isHeld) placeWaiting(); },
  u: () => { isLocal = !isLocal; tick(); },
  '?': () => $('footer').scrollIntoView(),
  gh: () => { location.href = base + '/'; },
  gj: () => { location.href = base + '/#jobs'; },
  gr: () => { location.href = base + '/replicas'; },
};
let first = '';
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') { document.activeElement.blur(); return; }
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  if (event.key === 'Enter' && event.target.closest('a, button, summary')) return;
  const act = keys[first + event.key];
  first = !first && event.key === 'g' ? 'g' : '';
  if (act) { event.preventDefault(); act(); }
});

theme(stored('theme'));
tick();
setInterval(() => {
  tick();
  placeWaiting();
  // A server that is there sends the time every second.
  if (stream && silence() > 5000) lose();
  if (stream && silence() > 20000) stream.abort();
}, 1000);
if (location.hash === '#q') $('#q')?.focus();
if (log) toEnd();
listen();
