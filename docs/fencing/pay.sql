-- One statement that both checks the token and writes: nothing can come in between.
UPDATE accounts SET paid = paid + 100, fence = :fence
WHERE name = 'alice' AND fence < :fence
RETURNING paid;
