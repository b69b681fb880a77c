set -eu
paid=$(sqlite3 -bail -cmd '.timeout 10000' -cmd ".parameter set :fence $SOLOCRON_FENCE" accounts.db < pay.sql)
if [ -z "$paid" ]; then
    echo "not paid: a run with a newer token than $SOLOCRON_FENCE has written already" >&2
    exit 1
fi
echo "paid, $paid in all"
