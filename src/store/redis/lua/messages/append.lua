-- Invariant: a feed keeps its newest lines alone, and a line that cannot be kept changes nothing.
-- KEYS: 1 feed. ARGV: 1 line, 2 how many lines are kept, 3 the channel of wakes, 4 the wake.
redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[2], '*', 'text', ARGV[1])
-- Nothing depends on wakes: the user may lack the right to publish.
redis.pcall('PUBLISH', ARGV[3], ARGV[4])
return 1
