// The scenario of run.sh with node's mysql2: query() interpolates in the client, execute() prepares on the server.
'use strict';
const assert = require('node:assert').strict;
const mysql = require('mysql2/promise');

const tls = process.env.DB_TLS === '1';
const name = process.env.DB_NAME;
const document = { a: [1, 2.5, null], k: '🐄' };
const columns = 'n, m, f, s, b, d, ts, tm, j, z';
const row = {
  n: '18446744073709551615', m: '1234567890123456.7891', f: 0.1, s: 'Grüße 🐄', b: Buffer.from('\0ÿ\'\\\n\x1a', 'latin1'),
  d: '2024-02-29', ts: '2024-02-29 23:59:59.123456', tm: '12:34:56', j: document, z: null,
};
const many = 10000;

async function main() {
  const c = await mysql.createConnection({
    host: process.env.DB_HOST, port: Number(process.env.DB_PORT), user: process.env.DB_USER, password: process.env.DB_PASSWORD,
    ssl: tls ? { rejectUnauthorized: false } : undefined, supportBigNumbers: true, bigNumberStrings: false, dateStrings: true,
  });
  const [[status]] = await c.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
  assert.equal(status.Value !== '', tls);
  await c.query(`DROP DATABASE IF EXISTS ${name}`);
  await c.query(`CREATE DATABASE ${name}`);
  await c.changeUser({ database: name });
  await c.query(`CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, n BIGINT UNSIGNED, m DECIMAL(20,4), f DOUBLE, s VARCHAR(50), b BLOB,
    d DATE, ts DATETIME(6), tm TIME, j JSON, z INT, UNIQUE KEY s_unique (s))`);

  const values = Object.values({ ...row, j: JSON.stringify(document) });
  const insert = `INSERT INTO t (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const [result] = await c.execute(insert, values);
  assert.deepEqual([result.insertId, result.affectedRows], [1, 1]);
  values[3] = 'second';
  await c.query(insert, values);
  for (const [id, s] of [[1, row.s], [2, 'second']]) {
    for (const read of [c.query, c.execute]) {
      const [rows] = await read.call(c, `SELECT ${columns} FROM t WHERE id = ?`, [id]);
      assert.deepEqual(rows.map((r) => ({ ...r })), [{ ...row, s }]);
    }
  }

  await assert.rejects(c.execute('INSERT INTO t (s) VALUES (?)', ['second']),
    { errno: 1062, code: 'ER_DUP_ENTRY', sqlState: '23000', sqlMessage: "Duplicate entry 'second' for key 't.s_unique'" });

  await c.beginTransaction();
  await c.execute('INSERT INTO t (s) VALUES (?)', ['rolled back']);
  await c.rollback();
  const [[{ n }]] = await c.query('SELECT COUNT(*) AS n FROM t');
  assert.equal(n, 2);

  await c.query('CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR(50))');
  const rows = Array.from({ length: many }, (_, id) => ({ id, s: `row ${id}` }));
  await c.query('INSERT INTO many VALUES ?', [rows.map((r) => [r.id, r.s])]);
  for (const read of [c.query, c.execute]) {
    const [got] = await read.call(c, 'SELECT id, s FROM many ORDER BY id');
    assert.deepEqual(got.map((r) => ({ ...r })), rows);
  }
  await c.query(`DROP DATABASE ${name}`);
  await c.end();
}

main().catch((error) => {
  console.error(error.stack);
  console.error(`${error.sql ? `${error.sql}: ` : ''}${error.message.replaceAll('\n', ' ')}`);
  process.exit(1);
});
