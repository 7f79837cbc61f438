# Statements whose binary log of MariaDB is recorded, by tools/record-binlog.py. A line is a statement; @file begins the next file.
@file control
SET SESSION sql_mode = ''
CREATE DATABASE binlog_golden CHARACTER SET utf8mb4
USE binlog_golden
CREATE TABLE plain (id INT PRIMARY KEY, a VARCHAR(20)) ENGINE=InnoDB
INSERT INTO plain VALUES (1, 'one'), (2, NULL)
UPDATE plain SET a = CONCAT(id, 'x')
DELETE FROM plain WHERE id = 1
SET SESSION binlog_annotate_row_events = OFF
SET SESSION gtid_domain_id = 3, SESSION server_id = 99
INSERT INTO plain VALUES (3, 'domain')
SET SESSION gtid_domain_id = 0, SESSION server_id = 8
SET timestamp = 1700000000.123456
CREATE TABLE moments (id INT PRIMARY KEY, a TIMESTAMP(6) NULL)
SET timestamp = DEFAULT
BEGIN
INSERT INTO plain VALUES (10, 'ten')
SAVEPOINT a
INSERT INTO plain VALUES (11, 'eleven')
COMMIT
XA START 'global', 'branch', 7
INSERT INTO plain VALUES (20, 'prepared')
XA END 'global', 'branch', 7
XA PREPARE 'global', 'branch', 7
XA COMMIT 'global', 'branch', 7
SET SESSION binlog_alter_two_phase = ON
ALTER TABLE plain ADD COLUMN b INT
SET SESSION binlog_alter_two_phase = OFF
CREATE SEQUENCE s
SELECT NEXTVAL(s)
@file types
CREATE TABLE ints (id INT PRIMARY KEY, a TINYINT, b TINYINT UNSIGNED, c SMALLINT, d SMALLINT UNSIGNED, e MEDIUMINT, f MEDIUMINT UNSIGNED, g INT, h INT UNSIGNED, i BIGINT, j BIGINT UNSIGNED, k YEAR, l BOOL, m BIT(9), n DECIMAL(65,30), o FLOAT, p DOUBLE)
INSERT INTO ints VALUES (1, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, 0, 0, 0, -99999999999999999999999999999999999.999999999999999999999999999999, -3.402823466e38, -1.7976931348623157e308), (2, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, 1901, 1, 511, 0.5, 1.5, 0.1), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
CREATE TABLE times (id INT PRIMARY KEY, a DATE, b DATETIME, c DATETIME(3), d TIMESTAMP NULL, e TIMESTAMP(6) NULL, f TIME, g TIME(2), h TIME(6))
INSERT INTO times VALUES (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '-838:59:59', '-838:59:59.99', '-838:59:59.999999'), (2, '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.999999', '838:59:59', '838:59:59.99', '838:59:59.999999'), (3, '1000-01-01', '1000-01-01 00:00:00', '1000-01-01 00:00:00.001', '1970-01-01 00:00:01', '1970-01-01 00:00:01.000001', '-00:00:01', '-00:00:00.01', '-00:00:00.000001')
CREATE TABLE texts (id INT PRIMARY KEY, a CHAR(10), b VARCHAR(300) CHARACTER SET latin1, c TEXT, d JSON, e BINARY(5), f BLOB, g ENUM('x','y'), h SET('a','b','c'), i GEOMETRY, j POINT, k INET6, l UUID)
INSERT INTO texts VALUES (1, 'a  ', REPEAT('é', 300), 'text', '{"a": [1]}', 'b', x'00ff', 'y', 'a,c', ST_GeomFromText('LINESTRING(0 0, 1 1)'), ST_GeomFromText('POINT(1 2)'), '2001:db8::1', '123e4567-e89b-12d3-a456-426655440000'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
CREATE TABLE squeezed (id INT PRIMARY KEY, a TEXT COMPRESSED, b VARCHAR(1000) COMPRESSED, c BLOB COMPRESSED, d VARBINARY(200) COMPRESSED)
INSERT INTO squeezed VALUES (1, REPEAT('long ', 100), REPEAT('varchar ', 100), REPEAT('blob ', 60), REPEAT('bin ', 50)), (2, 'short', '', NULL, x'00'), (3, '', 'v', 'b', NULL)
@file old_times
SET GLOBAL mysql56_temporal_format = OFF
CREATE TABLE old_times (id INT PRIMARY KEY, a DATE, b DATETIME, d TIMESTAMP NULL, f TIME)
INSERT INTO old_times VALUES (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '-838:59:59'), (2, '9999-12-31', '9999-12-31 23:59:59', '2038-01-19 03:14:07', '838:59:59'), (3, '1000-01-01', '1000-01-01 00:00:00', '1970-01-01 00:00:01', '-00:00:01'), (4, NULL, NULL, NULL, NULL)
SET GLOBAL mysql56_temporal_format = ON
@file images
CREATE TABLE parts (id INT PRIMARY KEY, a INT, b INT NOT NULL, c VARCHAR(10))
SET SESSION binlog_row_image = MINIMAL
INSERT INTO parts (id, a, b, c) VALUES (1, 1, 1, 'a'), (2, 2, 2, NULL)
UPDATE parts SET a = a + 1 WHERE id > 1 ORDER BY id
DELETE FROM parts WHERE id = 2
SET SESSION binlog_row_image = FULL
@file compressed
SET GLOBAL log_bin_compress = ON
CREATE TABLE longs (id INT PRIMARY KEY, a VARCHAR(1000), b INT)
INSERT INTO longs VALUES (30, REPEAT('c', 300), 1), (31, REPEAT('d', 400), 1)
UPDATE longs SET a = CONCAT('d', a) ORDER BY id
DELETE FROM longs WHERE id >= 30 ORDER BY id
CREATE TABLE long_statement (id INT PRIMARY KEY, a VARCHAR(20) COMMENT 'a comment that is long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long')
SET GLOBAL log_bin_compress = OFF
@file bare
SET GLOBAL binlog_checksum = NONE
SET GLOBAL binlog_row_metadata = NO_LOG
INSERT INTO ints (id, a, b) VALUES (5, -5, 100)
@file statements
SET GLOBAL binlog_checksum = CRC32
SET GLOBAL binlog_row_metadata = FULL
SET SESSION binlog_format = STATEMENT
CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, a DOUBLE, b VARCHAR(100))
SET @u = 'é', @i = -5, @j = CAST(18446744073709551615 AS UNSIGNED), @d = 1.50, @r = 0.1e0, @n = NULL, @`a b` = x'00ff'
INSERT INTO counted (a, b) VALUES (RAND(), @u)
INSERT INTO counted (a, b) SELECT LAST_INSERT_ID(), CONCAT_WS(',', @i, @j, @d, @r, @n, HEX(@`a b`))
LOAD DATA LOCAL INFILE 'load.txt' INTO TABLE counted FIELDS TERMINATED BY ',' (a, b) SET a = a + 1
SET SESSION binlog_format = ROW
@file end
DROP DATABASE binlog_golden
