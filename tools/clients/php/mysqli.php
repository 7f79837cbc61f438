<?php
// The scenario of run.sh with PHP's mysqli (mysqlnd): query() sends text, prepare() prepares on the server.
declare(strict_types=1);
require __DIR__ . '/common.php';

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$c = mysqli_init();
$c->options(MYSQLI_OPT_INT_AND_FLOAT_NATIVE, 1);
$c->real_connect(getenv('DB_HOST'), getenv('DB_USER'), getenv('DB_PASSWORD'), null, (int) getenv('DB_PORT'), null,
    TLS ? MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT : 0);
$c->set_charset('utf8mb4');
check(TLS, $c->query("SHOW SESSION STATUS LIKE 'Ssl_cipher'")->fetch_row()[1] !== '');
$c->query('DROP DATABASE IF EXISTS ' . NAME);
$c->query('CREATE DATABASE ' . NAME);
$c->select_db(NAME);
$c->query(TABLE);

$insert = $c->prepare('INSERT INTO t (' . COLUMNS . ') VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
$values = ROW;
$insert->bind_param('ssdsbssssi', ...$values);
$insert->send_long_data(4, substr(ROW[4], 0, 2));   // the blob in two pieces
$insert->send_long_data(4, substr(ROW[4], 2));
$insert->execute();
check([1, 1], [$insert->insert_id, $insert->affected_rows]);

check([ROW], $c->query('SELECT ' . COLUMNS . ' FROM t WHERE id = 1')->fetch_all());
$select = $c->prepare('SELECT ' . COLUMNS . ' FROM t WHERE s = ?');
$select->execute([ROW[3]]);
check([ROW], $select->get_result()->fetch_all());

try {
    $c->query("INSERT INTO t (s) VALUES ('" . $c->real_escape_string(ROW[3]) . "')");
    throw new Exception('a duplicate key was accepted');
} catch (mysqli_sql_exception $error) {
    check([1062, '23000'], [$error->getCode(), $error->getSqlState()]);
}

$c->begin_transaction();
$c->query("INSERT INTO t (s) VALUES ('rolled back')");
$c->rollback();
check(1, $c->query('SELECT COUNT(*) FROM t')->fetch_row()[0]);

$c->query('CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR(50))');
for ($from = 0; $from < MANY; $from += 1000) {
    $c->query('INSERT INTO many VALUES ' . many_values($from, 1000));
}
$rows = array_map(fn (int $i): array => [$i, "row $i"], range(0, MANY - 1));
check($rows, $c->query('SELECT id, s FROM many ORDER BY id')->fetch_all());
$select = $c->prepare('SELECT id, s FROM many ORDER BY id');
$select->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);   // rows fetched from a cursor of the server
$select->attr_set(MYSQLI_STMT_ATTR_PREFETCH_ROWS, 1);
$select->execute();
$select->bind_result($id, $s);
for ($i = 0; $select->fetch(); $i++) {
    check($rows[$i], [$id, $s]);
}
check(MANY, $i);
$select->close();

// Two statements in one text give two results.
$c->multi_query('SELECT 1; SELECT 2');
check(['1'], array_map('strval', $c->store_result()->fetch_row()));
$c->next_result();
check(['2'], array_map('strval', $c->store_result()->fetch_row()));
$c->query('DROP DATABASE ' . NAME);
$c->close();
