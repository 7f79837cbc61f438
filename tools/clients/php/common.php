<?php
// What the PHP clients share: the typed row, the table, and a check that ends the program.
declare(strict_types=1);

const COLUMNS = 'n, m, f, s, b, d, ts, tm, j, z';
const DOCUMENT = '{"a": [1, 2.5, null], "k": "🐄"}';
// BIGINT UNSIGNED above PHP's integers and DECIMAL are strings.
const ROW = ['18446744073709551615', '1234567890123456.7891', 0.1, 'Grüße 🐄', "\0\xff'\\\n\x1a",
    '2024-02-29', '2024-02-29 23:59:59.123456', '12:34:56', DOCUMENT, null];
const MANY = 10000;
const TABLE = 'CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, n BIGINT UNSIGNED, m DECIMAL(20,4), f DOUBLE, s VARCHAR(50), b BLOB,
    d DATE, ts DATETIME(6), tm TIME, j JSON, z INT, UNIQUE KEY s_unique (s))';
define('TLS', getenv('DB_TLS') === '1');
define('NAME', getenv('DB_NAME'));

set_exception_handler(function (Throwable $error): void {
    fwrite(STDERR, "$error\n{$error->getMessage()} (line {$error->getLine()})\n");
    exit(1);
});

function check(mixed $want, mixed $got): void
{
    if ($want !== $got) {
        throw new Exception('expected ' . json_encode($want, JSON_INVALID_UTF8_SUBSTITUTE) . ', got ' . json_encode($got, JSON_INVALID_UTF8_SUBSTITUTE));
    }
}

/** The rows of `many` from $from on, as a list of values for INSERT. */
function many_values(int $from, int $count): string
{
    return implode(', ', array_map(fn (int $i): string => "($i, 'row $i')", range($from, $from + $count - 1)));
}
