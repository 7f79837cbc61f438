<?php
// The scenario of run.sh with PHP's PDO (pdo_mysql on mysqlnd), with statements prepared by the driver and by the server.
declare(strict_types=1);
require __DIR__ . '/common.php';

function scenario(bool $emulated): void
{
    $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => $emulated, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_NUM];
    if (TLS) {
        // A CA must be named for TLS to be used at all; it is not checked.
        $options += [PDO::MYSQL_ATTR_SSL_CA => '/dev/null', PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => false];
    }
    $dsn = 'mysql:host=' . getenv('DB_HOST') . ';port=' . getenv('DB_PORT') . ';charset=utf8mb4';
    $c = new PDO($dsn, getenv('DB_USER'), getenv('DB_PASSWORD'), $options);
    check(TLS, $c->query("SHOW SESSION STATUS LIKE 'Ssl_cipher'")->fetch()[1] !== '');
    $c->exec('DROP DATABASE IF EXISTS ' . NAME);
    $c->exec('CREATE DATABASE ' . NAME);
    $c->exec('USE ' . NAME);
    $c->exec(TABLE);

    $insert = $c->prepare('INSERT INTO t (' . COLUMNS . ') VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    foreach (ROW as $i => $value) {
        $insert->bindValue($i + 1, $value, $i === 4 ? PDO::PARAM_LOB : ($value === null ? PDO::PARAM_NULL : PDO::PARAM_STR));
    }
    $insert->execute();
    check([1, '1'], [$insert->rowCount(), $c->lastInsertId()]);
    $select = $c->prepare('SELECT ' . COLUMNS . ' FROM t WHERE s = :s');
    $select->execute(['s' => ROW[3]]);
    check([ROW], $select->fetchAll());

    try {
        $c->prepare('INSERT INTO t (s) VALUES (?)')->execute([ROW[3]]);
        throw new Exception('a duplicate key was accepted');
    } catch (PDOException $error) {
        check(['23000', 1062], array_slice($error->errorInfo, 0, 2));
    }

    $c->beginTransaction();
    $c->exec("INSERT INTO t (s) VALUES ('rolled back')");
    $c->rollBack();
    check(1, $c->query('SELECT COUNT(*) FROM t')->fetchColumn());

    $c->exec('CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR(50))');
    for ($from = 0; $from < MANY; $from += 1000) {
        check(1000, $c->exec('INSERT INTO many VALUES ' . many_values($from, 1000)));
    }
    $rows = array_map(fn (int $i): array => [$i, "row $i"], range(0, MANY - 1));
    check($rows, $c->query('SELECT id, s FROM many ORDER BY id')->fetchAll());
    $c->exec('DROP DATABASE ' . NAME);
}

foreach ([true, false] as $emulated) {
    echo $emulated ? "prepared by the driver\n" : "prepared by the server\n";
    scenario($emulated);
}
