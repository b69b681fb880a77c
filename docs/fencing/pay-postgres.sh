set -eu
paid=$(psql -X -q -A -t -v ON_ERROR_STOP=1 -v fence="$SOLOCRON_FENCE" -f pay.sql)
if [ -z "$paid" ]; then
    echo "not paid: a run with a newer token than $SOLOCRON_FENCE has written already" >&2
    exit 1
fi
echo "paid, $paid in all"
