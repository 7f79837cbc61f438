# What a data directory of a release has: one statement a line, and `restart`. Earlier directories keep what they have when something is added here.
> SET time_zone = '+00:00'
> CREATE DATABASE old COLLATE utf8mb4_0900_ai_ci
> USE old
> CREATE TABLE numbers (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, t TINYINT, tu TINYINT UNSIGNED, s SMALLINT, m MEDIUMINT, i INT, iz INT(8) UNSIGNED ZEROFILL, b BIGINT, bu BIGINT UNSIGNED, de DECIMAL(65,30), d2 DECIMAL(10,2) UNSIGNED, f FLOAT, do DOUBLE, fm FLOAT(7,3), bi BIT(17), bo BOOLEAN, UNIQUE KEY bu (bu), KEY de (de DESC), KEY f (f, d2))
> INSERT INTO numbers (t, tu, s, m, i, iz, b, bu, de, d2, f, do, fm, bi, bo) VALUES (-128, 255, -32768, -8388608, -2147483648, 42, -9223372036854775808, 18446744073709551615, -12345678901234567890.123456789, 99999999.99, -1.5e-30, 1.7976931348623157e308, 1234.567, b'10101010101010101', TRUE), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
> CREATE TABLE texts (id INT PRIMARY KEY, c CHAR(10), cb CHAR(10) COLLATE utf8mb4_bin, v VARCHAR(200), vl VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_german2_ci, vu VARCHAR(50) CHARACTER SET utf16, vg VARCHAR(50) COLLATE utf8mb4_general_ci, vc VARCHAR(50) COLLATE utf8mb4_0900_as_cs, bn BINARY(6), vb VARBINARY(20), tt TINYTEXT, tx TEXT, mt MEDIUMTEXT, lt LONGTEXT, tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB, e ENUM('a','ö','z'), st SET('x','y','z'), KEY c (c), UNIQUE KEY v (v), KEY vl (vl), KEY vg (vg(5) DESC), KEY tx (tx(10), e), KEY vb (vb))
> INSERT INTO texts VALUES (1, 'Straße', 'Straße', 'Äpfel 🐬', 'Müller', 'Ω', 'ÀÉ', 'aB', 'ab', x'00FF10', 'tiny', 'text', 'medium', REPEAT('long ', 200), x'00', x'01FF', x'02', REPEAT(x'AB', 300), 'ö', 'x,z'), (2, '', ' a', 'äpfel', 'Mueller ', '', '', 'Ab', '', '', '', '', '', '', '', '', '', '', 'a', ''), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
> CREATE TABLE times (id INT PRIMARY KEY, d DATE, t TIME, t6 TIME(6), dt DATETIME, dt3 DATETIME(3), ts TIMESTAMP(6) NULL, y YEAR, changed TIMESTAMP NOT NULL DEFAULT '2001-02-03 04:05:06' ON UPDATE CURRENT_TIMESTAMP, KEY d (d), KEY t6 (t6 DESC), KEY ts (ts, y))
> INSERT INTO times (id, d, t, t6, dt, dt3, ts, y) VALUES (1, '9999-12-31', '-838:59:59', '838:59:58.999999', '1000-01-01 00:00:00', '2026-02-28 23:59:59.999', '2038-01-19 03:14:07.123456', 1901), (2, '1000-01-01', '00:00:00', '-00:00:00.000001', '9999-12-31 23:59:59', '2000-02-29 12:00:00.5', '1970-01-01 00:00:01', 2155), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
> CREATE TABLE documents (id INT PRIMARY KEY, j JSON, tags JSON, v VECTOR(3), g GEOMETRY, p POINT NOT NULL SRID 0, SPATIAL KEY p (p), KEY tags ((CAST(tags AS UNSIGNED ARRAY))))
> INSERT INTO documents VALUES (1, '{"a": [1, 2.5, "ü", null, true, {"b": 12345678901234567890}], "d": "x"}', '[1, 2, 3]', STRING_TO_VECTOR('[1,2.5,-3]'), ST_GeomFromText('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (2 2, 4 2, 4 4, 2 4, 2 2))'), ST_GeomFromText('POINT(40.4 -3.7)')), (2, 'null', '[3]', NULL, ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2), LINESTRING(0 0, 1 1))'), ST_GeomFromText('POINT(-33.9 151.2)')), (3, CAST(TIMESTAMP'2026-01-02 03:04:05.678' AS JSON), NULL, NULL, ST_GeomFromText('POINT(40.4 -3.7)', 4326), ST_GeomFromText('POINT(0 0)'))
> CREATE TABLE computed (id INT PRIMARY KEY, a INT NOT NULL, b VARCHAR(20) NOT NULL DEFAULT 'b', virt INT GENERATED ALWAYS AS (a * 2) VIRTUAL, stor VARCHAR(40) GENERATED ALWAYS AS (CONCAT(b, '-', a)) STORED, ex INT DEFAULT (a + 1), hidden INT INVISIBLE DEFAULT 7, KEY virt (virt), UNIQUE KEY stor (stor), KEY fn ((LOWER(b)), (a % 3)), CONSTRAINT positive CHECK (a >= 0), CONSTRAINT lax CHECK (a < 5) NOT ENFORCED)
> INSERT INTO computed (id, a, b) VALUES (1, 1, 'One'), (2, 2, 'TWO'), (3, 30, DEFAULT)
> CREATE TABLE parent (id INT PRIMARY KEY, code CHAR(3) NOT NULL UNIQUE)
> CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, parent_id INT, code CHAR(3), CONSTRAINT child_parent FOREIGN KEY (parent_id) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE SET NULL, CONSTRAINT child_code FOREIGN KEY (code) REFERENCES parent (code) ON UPDATE CASCADE) AUTO_INCREMENT = 100
> INSERT INTO parent VALUES (1, 'aaa'), (2, 'bbb')
> INSERT INTO child (parent_id, code) VALUES (1, 'aaa'), (1, 'bbb'), (2, NULL)
> CREATE TABLE by_range (id INT NOT NULL, made DATE NOT NULL, v VARCHAR(10), PRIMARY KEY (id, made), KEY v (v)) PARTITION BY RANGE COLUMNS (made) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION p2024 VALUES LESS THAN ('2025-01-01'), PARTITION p2025 VALUES LESS THAN ('2026-01-01'), PARTITION rest VALUES LESS THAN (MAXVALUE))
> INSERT INTO by_range VALUES (1, '2024-05-05', 'a'), (2, '2025-05-05', 'b'), (3, '2026-05-05', 'c'), (4, '2024-12-31', 'd')
> CREATE TABLE by_key (id INT PRIMARY KEY, v INT) PARTITION BY KEY (id) PARTITIONS 3
> INSERT INTO by_key SELECT n, n * n FROM (WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 30) SELECT n FROM s) AS q
> CREATE TABLE by_list (id INT, region VARCHAR(5), KEY (id)) PARTITION BY LIST COLUMNS (region) (PARTITION north VALUES IN ('n', 'ne'), PARTITION south VALUES IN ('s', NULL))
> INSERT INTO by_list VALUES (1, 'n'), (2, 's'), (3, NULL), (4, 'ne')
> CREATE TABLE no_key (a INT, b TEXT)
> INSERT INTO no_key VALUES (1, 'x'), (1, 'x'), (NULL, NULL)
> CREATE TABLE words (id INT PRIMARY KEY, title VARCHAR(100), body TEXT, FULLTEXT KEY all_words (title, body), FULLTEXT KEY grams (body) WITH PARSER ngram)
> INSERT INTO words VALUES (1, 'The smallest porpoise', 'The vaquita lives in the Gulf of California'), (2, 'Databases', 'A porpoise is no database'), (3, NULL, '数据库')
> CREATE TABLE altered (id INT PRIMARY KEY, gone INT, kept VARCHAR(10), wide SMALLINT, KEY kept (kept))
> INSERT INTO altered VALUES (1, 10, 'one', 1), (2, 20, 'two', 2)
> ALTER TABLE altered ADD COLUMN later INT NOT NULL DEFAULT 5 AFTER id, DROP COLUMN gone, RENAME COLUMN kept TO renamed
> INSERT INTO altered VALUES (3, 6, 'three', 3)
> restart
> SET time_zone = '+00:00'
> USE old
> ALTER TABLE altered MODIFY COLUMN wide BIGINT UNSIGNED, ADD COLUMN first DECIMAL(5,1) FIRST, ADD UNIQUE KEY later (later, id)
> INSERT INTO altered VALUES (1.5, 4, 7, 'four', 18446744073709551615)
> ALTER TABLE altered DROP COLUMN renamed
> CREATE TABLE dropped (id INT PRIMARY KEY, v INT, KEY v (v))
> INSERT INTO dropped VALUES (1, 1), (2, 2)
> DROP TABLE dropped
> CREATE TABLE emptied (id INT AUTO_INCREMENT PRIMARY KEY, v INT)
> INSERT INTO emptied (v) VALUES (1), (2)
> TRUNCATE TABLE emptied
> INSERT INTO emptied (v) VALUES (3)
> CREATE TABLE many (id INT PRIMARY KEY, k INT NOT NULL, pad VARCHAR(60) NOT NULL, KEY k (k), KEY pad (pad(8)))
> INSERT INTO many SELECT n, n * 7919 % 1000, REPEAT(MD5(n), 1) FROM (WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n FROM s) AS q
> UPDATE many SET k = k + 1 WHERE id % 10 = 0
> DELETE FROM many WHERE id BETWEEN 500 AND 599
> CREATE VIEW joined AS SELECT p.code, COUNT(*) AS children FROM parent AS p JOIN child AS c ON c.parent_id = p.id GROUP BY p.code
> CREATE ALGORITHM = MERGE SQL SECURITY INVOKER VIEW checked AS SELECT id, a, b FROM computed WHERE a < 10 WITH CASCADED CHECK OPTION
> CREATE TABLE noted (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(50))
> CREATE TRIGGER many_bi BEFORE INSERT ON many FOR EACH ROW SET NEW.pad = UPPER(NEW.pad)
> CREATE TRIGGER many_ad AFTER DELETE ON many FOR EACH ROW INSERT INTO noted (what) VALUES (CONCAT('deleted ', OLD.id))
> CREATE FUNCTION doubled(n INT) RETURNS INT DETERMINISTIC RETURN n * 2
> CREATE PROCEDURE fill(IN n INT, OUT total INT) BEGIN DECLARE i INT DEFAULT 0; DECLARE EXIT HANDLER FOR SQLEXCEPTION SET total = -1; WHILE i < n DO INSERT INTO noted (what) VALUES (CONCAT('filled ', i)); SET i = i + 1; END WHILE; SELECT COUNT(*) INTO total FROM noted; END
> CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 03:00:00' ON COMPLETION PRESERVE DISABLE COMMENT 'at night' DO DELETE FROM noted
> CREATE DATABASE `other-Ü` CHARACTER SET latin1
> CREATE TABLE `other-Ü`.`t-é` (`c ö` VARCHAR(10), KEY (`c ö`)) COMMENT 'names'
> INSERT INTO `other-Ü`.`t-é` VALUES ('ß'), ('é')
> CREATE ROLE reader
> CREATE USER ana@'10.0.0.%' IDENTIFIED WITH caching_sha2_password AS '$A$005$0123456789abcdefghijabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ' REQUIRE SSL WITH MAX_USER_CONNECTIONS 5 PASSWORD EXPIRE INTERVAL 90 DAY FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2 COMMENT 'of the office'
> CREATE USER old_client IDENTIFIED WITH mysql_native_password AS '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19' DEFAULT ROLE reader ACCOUNT LOCK
> GRANT SELECT, SHOW VIEW ON old.* TO reader
> GRANT SELECT (id, code), UPDATE (code) ON old.parent TO ana@'10.0.0.%' WITH GRANT OPTION
> GRANT EXECUTE ON FUNCTION old.doubled TO ana@'10.0.0.%'
> GRANT PROCESS, BACKUP_ADMIN ON *.* TO ana@'10.0.0.%'
> GRANT reader TO ana@'10.0.0.%'
> SET PERSIST max_connections = 500
> SET PERSIST sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE'
> SET PERSIST vaquita_backup_keep = 9
> FLUSH BINARY LOGS
> ANALYZE TABLE many, texts
> BEGIN
> INSERT INTO noted (what) VALUES ('one of two')
> SAVEPOINT s
> INSERT INTO noted (what) VALUES ('rolled back')
> ROLLBACK TO SAVEPOINT s
> INSERT INTO noted (what) VALUES ('two of two')
> COMMIT
> XA START 'branch', 'a', 7
> INSERT INTO noted (what) VALUES ('of an XA transaction')
> UPDATE parent SET code = 'xax' WHERE id = 2
> XA END 'branch', 'a', 7
> XA PREPARE 'branch', 'a', 7
> XA START 'given up'
> DELETE FROM many WHERE id = 1
> XA END 'given up'
> XA PREPARE 'given up'
