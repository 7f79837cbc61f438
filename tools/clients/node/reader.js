// @vlasky/zongji: rows of the binary log as they come.
const assert = require('assert');
const mysql = require('mysql2/promise');
const { default: ZongJi } = require('@vlasky/zongji');

const env = process.env;
const tls = env.DB_TLS === '1';
const settings = {
  host: env.DB_HOST, port: Number(env.DB_PORT), user: env.DB_USER, password: env.DB_PASSWORD,
  ...(tls ? { ssl: { rejectUnauthorized: false } } : {}),
};
const PATIENCE_MS = 20000;

async function main() {
  const connection = await mysql.createConnection(settings);
  const [[cipher]] = await connection.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
  assert.strictEqual(cipher.Value !== '', tls);
  await connection.query(`DROP DATABASE IF EXISTS ${env.DB_NAME}`);
  await connection.query(`CREATE DATABASE ${env.DB_NAME}`);
  await connection.query(`USE ${env.DB_NAME}`);
  await connection.query('CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50), d DECIMAL(20,4), j JSON, b BLOB)');

  const reader = new ZongJi(settings);
  const found = [];
  const all = new Promise((resolve, reject) => {
    reader.on('error', reject);
    reader.on('binlog', (event) => {
      if (event.getEventName() !== 'tablemap') found.push([event.getEventName(), ...event.rows]);
      if (event.getEventName() === 'deleterows') resolve();
    });
    setTimeout(() => reject(new Error(`only ${JSON.stringify(found)}`)), PATIENCE_MS).unref();
  });
  const ready = new Promise((resolve) => reader.on('ready', resolve));
  reader.start({
    serverId: tls ? 4000000032 : 4000000031, startAtEnd: true,
    includeEvents: ['tablemap', 'writerows', 'updaterows', 'deleterows'], includeSchema: { [env.DB_NAME]: true },
  });
  await Promise.race([ready, all]);
  await connection.query("INSERT INTO t VALUES (1, 'Grüße 🐄', 1234567890123456.7891, '{\"a\":[1,null]}', x'00ff')");
  await connection.query('BEGIN');
  await connection.query('INSERT INTO t (id) VALUES (2)');
  await connection.query('ROLLBACK');
  await connection.query('UPDATE t SET s = NULL');
  await connection.query('DELETE FROM t');
  await all;
  const row = { id: 1, s: 'Grüße 🐄', d: '1234567890123456.7891', j: { a: [1, null] }, b: Buffer.from([0, 255]) };
  const after = { ...row, s: null };
  assert.deepStrictEqual(found, [['writerows', row], ['updaterows', { before: row, after }], ['deleterows', after]]);
  await connection.query(`DROP DATABASE ${env.DB_NAME}`);
  await connection.end();
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
