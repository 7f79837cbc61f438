# Statements whose binary log of MySQL is recorded, by tools/record-binlog.py. A line is a statement; @file begins the next file.
@file control
CREATE DATABASE binlog_golden CHARACTER SET utf8mb4
USE binlog_golden
CREATE TABLE plain (id INT PRIMARY KEY, a VARCHAR(20))
SET SESSION binlog_rows_query_log_events = ON
INSERT INTO plain VALUES (1, 'one'), (2, NULL)
SET SESSION binlog_rows_query_log_events = OFF
UPDATE plain SET a = CONCAT(id, 'x')
DELETE FROM plain WHERE id = 1
SET SESSION sql_mode = 'ANSI_QUOTES', SESSION time_zone = '+03:00', SESSION lc_time_names = 'de_DE', SESSION auto_increment_increment = 3, SESSION foreign_key_checks = 0, SESSION default_collation_for_utf8mb4 = utf8mb4_general_ci
CREATE TABLE "quoted" ("id" INT PRIMARY KEY) DEFAULT CHARACTER SET latin1
SET SESSION sql_mode = DEFAULT, SESSION time_zone = '+00:00', SESSION lc_time_names = DEFAULT, SESSION auto_increment_increment = DEFAULT, SESSION foreign_key_checks = DEFAULT, SESSION default_collation_for_utf8mb4 = DEFAULT
CREATE TABLE binlog_golden.`other ``table` LIKE plain
BEGIN
INSERT INTO plain VALUES (10, 'ten')
SAVEPOINT `a b`
INSERT INTO plain VALUES (11, 'eleven')
COMMIT
SET SESSION gtid_next = 'AUTOMATIC:tag_1'
INSERT INTO plain VALUES (12, 'tagged')
DROP TABLE quoted
SET SESSION gtid_next = '3e11fa47-71ca-11e1-9e33-c80aa9429562:other:1152921504606846975'
INSERT INTO plain VALUES (13, 'tagged by hand')
SET SESSION gtid_next = '3e11fa47-71ca-11e1-9e33-c80aa9429562:77'
BEGIN
COMMIT
SET SESSION gtid_next = AUTOMATIC
XA START 'global', 'branch', 7
INSERT INTO plain VALUES (20, 'prepared')
XA END 'global', 'branch', 7
XA PREPARE 'global', 'branch', 7
XA COMMIT 'global', 'branch', 7
XA START 'one'
INSERT INTO plain VALUES (21, 'one phase')
XA END 'one'
XA COMMIT 'one' ONE PHASE
SET NAMES latin1
CREATE VIEW v AS SELECT 1 AS a
SET NAMES utf8mb4
@file numbers
CREATE TABLE ints (id INT PRIMARY KEY, a TINYINT, b TINYINT UNSIGNED, c SMALLINT, d SMALLINT UNSIGNED, e MEDIUMINT, f MEDIUMINT UNSIGNED, g INT, h INT UNSIGNED, i BIGINT, j BIGINT UNSIGNED, k YEAR, l BOOL)
INSERT INTO ints VALUES (1, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, 0, 0), (2, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, 1901, 1), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, 2155, -1)
CREATE TABLE decimals (id INT PRIMARY KEY, a DECIMAL(65,30), b DECIMAL(1,0), c DECIMAL(30,30), d DECIMAL(10,2) UNSIGNED, e DECIMAL(19,9), f DECIMAL(65,0), g FLOAT, h DOUBLE, i FLOAT UNSIGNED, j DOUBLE(10,3))
INSERT INTO decimals VALUES (1, 99999999999999999999999999999999999.999999999999999999999999999999, 9, 0.999999999999999999999999999999, 99999999.99, 9999999999.999999999, 99999999999999999999999999999999999999999999999999999999999999999, 3.402823466e38, 1.7976931348623157e308, 1e-30, 1234567.891), (2, -99999999999999999999999999999999999.999999999999999999999999999999, -9, -0.999999999999999999999999999999, 0, -9999999999.999999999, -99999999999999999999999999999999999999999999999999999999999999999, -3.402823466e38, -1.7976931348623157e308, 0, -0.001), (3, 0, 0, 0, 0.01, -0.000000001, -1, 1.17549e-38, 2.2250738585072014e-308, 0.1, 0.5), (4, 1234567890.1234, 1, 0.000000000000000000000000000001, 1.10, 123456789.123456789, 1000000000, -0.1, -0.1, 16777217, -999.999)
CREATE TABLE bits (id INT PRIMARY KEY, a BIT(1), b BIT(8), c BIT(9), d BIT(63), e BIT(64), f ENUM('x','y','z'), g SET('a','b','c','d','e','f','g','h','i'), h ENUM('é','ü') CHARACTER SET latin1)
INSERT INTO bits VALUES (1, 0, 0, 0, 0, 0, 'x', '', 1), (2, 1, 255, 511, 9223372036854775807, 18446744073709551615, 'z', 'a,b,c,d,e,f,g,h,i', 2), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, 1, 128, 256, 4611686018427387904, 9223372036854775808, 2, 'i', 1)
@file texts
CREATE TABLE times (id INT PRIMARY KEY, a DATE, b DATETIME, c DATETIME(1), d DATETIME(3), e DATETIME(6), f TIMESTAMP NULL, g TIMESTAMP(2) NULL, h TIMESTAMP(6) NULL, i TIME, j TIME(1), k TIME(2), l TIME(4), m TIME(6))
SET SESSION sql_mode = ''
INSERT INTO times VALUES (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '-838:59:59', '-838:59:59', '-838:59:59', '-838:59:59', '-838:59:59'), (2, '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.9', '9999-12-31 23:59:59.999', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.99', '2038-01-19 03:14:07.999999', '838:59:59', '838:59:59', '838:59:59', '838:59:59', '838:59:59'), (3, '1000-01-01', '1000-01-01 00:00:00', '1000-01-01 00:00:00.1', '1000-01-01 00:00:00.001', '1000-01-01 00:00:00.000001', '1970-01-01 00:00:01', '1970-01-01 00:00:01.01', '1970-01-01 00:00:01.000001', '-00:00:01', '-00:00:00.1', '-00:00:00.01', '-00:00:00.0001', '-00:00:00.000001'), (4, '2024-00-10', '2024-02-00 10:11:12', NULL, NULL, NULL, NULL, NULL, NULL, '00:00:00', '-12:34:56.7', '-12:34:56.99', '-12:34:56.9999', '-12:34:56.999999'), (5, '2024-02-29', '2024-02-29 13:14:15', '2024-02-29 13:14:15.6', '2024-02-29 13:14:15.678', '2024-02-29 13:14:15.678901', '2024-02-29 13:14:15', '2024-02-29 13:14:15.67', '2024-02-29 13:14:15.678901', '12:34:56', '12:34:56.7', '12:34:56.78', '12:34:56.7890', '12:34:56.789012')
SET SESSION sql_mode = DEFAULT
CREATE TABLE texts (id INT PRIMARY KEY, a CHAR(10), b CHAR(255) CHARACTER SET utf8mb4, c VARCHAR(255) CHARACTER SET latin1, d VARCHAR(300), e TINYTEXT, f TEXT, g MEDIUMTEXT, h LONGTEXT, i BINARY(5), j VARBINARY(5), k TINYBLOB, l BLOB, m MEDIUMBLOB, n LONGBLOB, o CHAR(0), p VARCHAR(10) CHARACTER SET utf16 COLLATE utf16_bin)
INSERT INTO texts VALUES (1, 'a  ', REPEAT('é', 255), 'é', REPEAT('x', 300), 'tiny', 'text', 'medium', 'long', 'b', 'b\0', x'00', x'00ff', x'', x'27', '', 'ü'), (2, '', '', '', '', '', '', '', '', '', '', '', '', '', '', NULL, ''), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, '\0\'\n\\', ' b', REPEAT('z', 255), 'short', REPEAT('t', 255), REPEAT('u', 256), 'm', 'l', x'0000000000', x'0102030405', REPEAT('k', 255), 'l', 'm', 'n', '', '')
CREATE TABLE shapes (id INT PRIMARY KEY, a GEOMETRY, b POINT SRID 4326, c POLYGON, d GEOMETRYCOLLECTION, e VECTOR(3), f VECTOR)
INSERT INTO shapes VALUES (1, ST_GeomFromText('LINESTRING(0 0, 1 1)'), ST_GeomFromText('POINT(10 20)', 4326), ST_GeomFromText('POLYGON((0 0, 0 1, 1 1, 0 0))'), ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2))'), TO_VECTOR('[1,2.5,-3]'), TO_VECTOR('[0]')), (2, NULL, NULL, NULL, NULL, NULL, NULL)
CREATE TABLE documents (id INT PRIMARY KEY, a JSON, b INT)
INSERT INTO documents VALUES (1, NULL, 1), (2, 'null', 1), (3, '[true, false, null, 0, -1, 32767, -32768, 32768, 65535, 65536, -2147483648, 4294967295, 9223372036854775807, -9223372036854775808, 18446744073709551615, 1.5, -0.0, 1e300, "", "é", [], {}, [[[]]], {"a": {"b": [1, {"c": "d"}]}, "bb": 1, "": 2}]', 1), (4, JSON_OBJECT('decimal', 12345.678, 'date', DATE'2024-02-29', 'time', TIME'-12:34:56.789', 'datetime', TIMESTAMP'2024-02-29 13:14:15.678901', 'bits', b'101', 'blob', x'00ff', 'big', 123456789012345678901234567890.5, 'geometry', ST_GeomFromText('POINT(1 2)')), 1), (5, '"plain"', 1), (6, JSON_ARRAY(REPEAT('x', 70000), REPEAT('y', 200), 1, JSON_OBJECT('k', 'v')), 1), (7, '18446744073709551615', 1), (8, '2.5', 1), (9, JSON_OBJECT(REPEAT('k', 300), 1), 1)
@file images
CREATE TABLE parts (id INT PRIMARY KEY, a INT, b INT NOT NULL, c VARCHAR(10), d INT GENERATED ALWAYS AS (a + b) STORED, e INT GENERATED ALWAYS AS (a * 2) VIRTUAL, f INT INVISIBLE, KEY ((a + 1)))
INSERT INTO parts (id, a, b, c) VALUES (1, 1, 1, 'a'), (2, 2, 2, NULL)
SET SESSION binlog_row_image = MINIMAL
INSERT INTO parts (id, b) VALUES (3, 3)
UPDATE parts SET a = a + 1 WHERE id > 1 ORDER BY id
DELETE FROM parts WHERE id = 3
SET SESSION binlog_row_image = NOBLOB
CREATE TABLE blobs (id INT PRIMARY KEY, a INT, b BLOB)
INSERT INTO blobs VALUES (1, 1, 'x'), (2, 2, 'y')
UPDATE blobs SET a = a + 1 ORDER BY id
UPDATE blobs SET b = CONCAT(b, 'z') ORDER BY id
SET SESSION binlog_row_image = FULL
CREATE TABLE keyless (id INT, a VARCHAR(5), UNIQUE KEY (a(3)))
INSERT INTO keyless VALUES (1, 'a'), (2, 'b')
CREATE TABLE prefixed (id INT, a VARCHAR(20), b TEXT, PRIMARY KEY (a(3), id, b(5)))
INSERT INTO prefixed VALUES (1, 'abcdef', 'b')
CREATE TABLE parted (id INT PRIMARY KEY, a INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)
INSERT INTO parted VALUES (1, 1), (20, 2)
UPDATE parted SET id = id + 30 WHERE id = 1
CREATE TABLE wide (id INT PRIMARY KEY, c1 INT, c2 INT, c3 INT, c4 INT, c5 INT, c6 INT, c7 INT, c8 INT, c9 INT)
INSERT INTO wide VALUES (1, NULL, 2, NULL, 4, NULL, 6, NULL, 8, NULL), (2, 1, NULL, 3, NULL, 5, NULL, 7, NULL, 9)
SET SESSION binlog_row_value_options = PARTIAL_JSON
CREATE TABLE patched (id INT PRIMARY KEY, a JSON, b INT, c JSON)
INSERT INTO patched VALUES (1, '{"a": 1, "b": [1, 2, 3], "long": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}', 1, '[1]'), (2, '[1, {"k": "v"}]', 2, NULL)
UPDATE patched SET a = JSON_SET(a, '$.b[1]', 'two', '$.new', JSON_OBJECT('x', 1.5)) WHERE id = 1
UPDATE patched SET a = JSON_REMOVE(a, '$.long'), c = JSON_SET(c, '$[0]', NULL) WHERE id = 1
UPDATE patched SET a = JSON_REPLACE(a, '$[1].k', JSON_ARRAY(1, 'w')), b = 9 ORDER BY id
UPDATE patched SET b = b + 1, c = '{"n": null}' ORDER BY id
SET SESSION binlog_row_value_options = ''
DROP VIEW v
DROP TABLE parts
@file compressed
SET SESSION binlog_transaction_compression = ON
BEGIN
INSERT INTO plain VALUES (30, REPEAT('c', 20)), (31, REPEAT('c', 20)), (32, REPEAT('c', 20))
UPDATE plain SET a = REPEAT('d', 20) WHERE id >= 30 ORDER BY id
COMMIT
SET SESSION binlog_transaction_compression = OFF
@file minimal
SET GLOBAL binlog_row_metadata = MINIMAL
INSERT INTO ints (id, a, b) VALUES (5, -5, 250)
INSERT INTO plain VALUES (40, 'minimal')
SET GLOBAL binlog_row_metadata = FULL
@file unchecked
SET GLOBAL binlog_checksum = NONE
INSERT INTO plain VALUES (50, 'no checksum')
@file statements
SET GLOBAL binlog_checksum = CRC32
SET SESSION binlog_format = STATEMENT
CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, a DOUBLE, b VARCHAR(100))
SET @u = 'é', @i = -5, @j = CAST(18446744073709551615 AS UNSIGNED), @d = 1.50, @r = 0.1e0, @n = NULL, @`a b` = x'00ff'
INSERT INTO counted (a, b) VALUES (RAND(), @u)
INSERT INTO counted (a, b) SELECT LAST_INSERT_ID(), CONCAT_WS(',', @i, @j, @d, @r, @n, HEX(@`a b`))
LOAD DATA LOCAL INFILE 'load.txt' INTO TABLE counted FIELDS TERMINATED BY ',' (a, b) SET a = a + 1
SET SESSION binlog_format = ROW
@file keys
SET SESSION sql_generate_invisible_primary_key = ON
CREATE TABLE hidden_key (a INT)
SET SESSION sql_generate_invisible_primary_key = OFF
INSERT INTO hidden_key VALUES (7)
CREATE TABLE unique_virtual (id INT NOT NULL, b INT GENERATED ALWAYS AS (id + 1) VIRTUAL NOT NULL, UNIQUE (b))
INSERT INTO unique_virtual (id) VALUES (1)
CREATE TABLE unique_prefix (id INT, b VARCHAR(10) NOT NULL, c INT NOT NULL, UNIQUE (b(3)), UNIQUE u2 (c), UNIQUE u1 (id))
INSERT INTO unique_prefix VALUES (1, 'a', 1)
CREATE TABLE unique_blob (id INT, a TINYBLOB NOT NULL, UNIQUE (a(255)))
INSERT INTO unique_blob VALUES (1, 'a')
CREATE TABLE unique_expression (id INT NOT NULL, b INT NOT NULL, UNIQUE ((id + 1)), UNIQUE z (b), UNIQUE y (id, b))
INSERT INTO unique_expression VALUES (1, 1)
CREATE TABLE unique_whole (id INT, a VARCHAR(10) NOT NULL, UNIQUE (a(10)))
INSERT INTO unique_whole VALUES (1, 'a')
CREATE TABLE collations (id INT NOT NULL, b VARCHAR(10) CHARACTER SET latin1, c VARCHAR(20), d VARCHAR(2) CHARACTER SET latin1, e VARCHAR(2) CHARACTER SET utf8mb4, f INT INVISIBLE, PRIMARY KEY (id))
INSERT INTO collations (id) VALUES (1)
CREATE TABLE sorts (id INT PRIMARY KEY, e1 ENUM('a') CHARACTER SET utf16, e2 SET('x','y') CHARACTER SET latin1, c1 CHAR(3) CHARACTER SET ucs2, c2 CHAR(5) CHARACTER SET utf32, v VARCHAR(3) CHARACTER SET gbk, t TINYTEXT CHARACTER SET utf16le, n NATIONAL CHAR(3), y YEAR, d DATE, ti TIMESTAMP(3) NULL, de DECIMAL(5,2) UNSIGNED, f FLOAT UNSIGNED, db DOUBLE UNSIGNED, bt BIT(3), vec VECTOR(5), j JSON, g GEOMETRY, p POINT, b TINYBLOB, bin BINARY(3))
INSERT INTO sorts (id, e1, e2, c1, c2, v, t, n, bin, b) VALUES (1, 'a', 'x,y', _ucs2 x'20202020', 'a ', 'v ', 'b ', 'n ', x'610000', x'6100'), (2, 'a', '', _ucs2 x'00200020', ' ', ' ', ' ', ' ', x'000000', x'00'), (3, NULL, NULL, _ucs2 x'00610020', NULL, NULL, NULL, NULL, NULL, NULL)
SET GLOBAL binlog_row_metadata = MINIMAL
INSERT INTO sorts (id, y, d, ti, de, f, db, bt) VALUES (4, 2155, '2000-02-29', '2001-01-01 00:00:00.123', 1.5, 1.5, 2.5, 5)
SET GLOBAL binlog_row_metadata = FULL
CREATE TABLE defaults (id INT PRIMARY KEY AUTO_INCREMENT, a INT DEFAULT 5, b VARCHAR(10) NOT NULL DEFAULT 'b', c TEXT, d BLOB, e INT GENERATED ALWAYS AS (a + 1) STORED, f DATETIME NOT NULL DEFAULT '2020-01-02 03:04:05', g INT DEFAULT (1 + 1), h JSON)
SET SESSION binlog_row_image = MINIMAL
INSERT INTO defaults (a, c) VALUES (5, NULL)
INSERT INTO defaults () VALUES ()
UPDATE defaults SET c = 'c', a = 6 WHERE id = 1
DELETE FROM defaults WHERE id = 2
SET SESSION binlog_row_image = NOBLOB
INSERT INTO defaults (id, a) VALUES (10, 1)
INSERT INTO defaults (id, c, d) VALUES (11, 'c', NULL)
UPDATE defaults SET a = 2, h = '[1]' WHERE id = 11
UPDATE defaults SET d = 'd' WHERE id = 11
DELETE FROM defaults WHERE id = 11
SET SESSION binlog_row_image = FULL
@file end
DROP DATABASE binlog_golden
