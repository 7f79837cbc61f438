-- One of every kind of stored object and of what a table can have beside its columns, for `cargo harness dump-test`.
-- Names, comments and bodies have what a dump must quote; nothing of it runs while the test does.

SET NAMES utf8mb4;
SET time_zone = '+00:00';
SET sql_mode = DEFAULT;

CREATE TABLE `parent` (
  id int NOT NULL AUTO_INCREMENT,
  code char(3) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL,
  region int NOT NULL DEFAULT '7',
  PRIMARY KEY (id),
  UNIQUE KEY code (code),
  UNIQUE KEY both_of_them (region, id)
) ENGINE=InnoDB COMMENT='parent of others, ''quoted'' \\ and ñ';
CREATE TABLE `a child` (
  id int NOT NULL,
  parent_id int DEFAULT NULL,
  region int DEFAULT NULL,
  code char(3) CHARACTER SET latin1 COLLATE latin1_german2_ci DEFAULT NULL,
  self int DEFAULT NULL,
  PRIMARY KEY (id),
  KEY `self key` (self),
  CONSTRAINT `a ``named`` key` FOREIGN KEY (parent_id) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE SET NULL,
  CONSTRAINT two_columns FOREIGN KEY (region, parent_id) REFERENCES parent (region, id) ON UPDATE CASCADE,
  FOREIGN KEY (code) REFERENCES parent (code) ON DELETE NO ACTION ON UPDATE RESTRICT,
  CONSTRAINT itself FOREIGN KEY (self) REFERENCES `a child` (id) ON DELETE SET NULL
);
CREATE TABLE computed (
  id int NOT NULL AUTO_INCREMENT,
  a int DEFAULT NULL,
  b varchar(20) COLLATE utf8mb4_bin DEFAULT 'it''s',
  doc json DEFAULT NULL,
  made int DEFAULT ((abs(7) + 3)),
  ab varchar(60) GENERATED ALWAYS AS (concat(a, _utf8mb4'-''-', b, _utf8mb4'\\')) STORED COMMENT 'both',
  twice int GENERATED ALWAYS AS (a * 2) VIRTUAL,
  name varchar(30) GENERATED ALWAYS AS (json_unquote(json_extract(doc, '$.name'))) VIRTUAL,
  big tinyint(1) GENERATED ALWAYS AS (a > 100 OR a IS NULL) STORED NOT NULL,
  at timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (id),
  KEY name (name),
  KEY of_expression ((a + 1), (lower(b)) DESC),
   UNIQUE KEY `part expression` ((CAST(doc ->> '$.id' AS UNSIGNED)), id),
  KEY elements ((CAST(doc -> '$.tags' AS CHAR(20) ARRAY))),
  KEY numbers (a, (CAST(doc -> '$.numbers' AS UNSIGNED ARRAY))),
  CONSTRAINT positive CHECK (a > 0 OR a IS NULL),
  CONSTRAINT lax CHECK (length(b) < 15) NOT ENFORCED
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;
CREATE TABLE by_range (id int NOT NULL, d date NOT NULL, t varchar(20), PRIMARY KEY (id, d))
  PARTITION BY RANGE (YEAR(d)) (
    PARTITION old VALUES LESS THAN (2000) COMMENT = 'it''s old',
    PARTITION p1 VALUES LESS THAN (2020),
    PARTITION `rest of it` VALUES LESS THAN MAXVALUE);
CREATE TABLE by_columns (a int NOT NULL, b varchar(10) NOT NULL, c datetime)
  PARTITION BY RANGE COLUMNS (a, b) (
    PARTITION p0 VALUES LESS THAN (10, 'm'),
    PARTITION p1 VALUES LESS THAN (10, MAXVALUE),
    PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE));
CREATE TABLE by_list (a int, b int) PARTITION BY LIST (a) (
    PARTITION odd VALUES IN (1, 3, 5), PARTITION even VALUES IN (NULL, 2, 4));
CREATE TABLE by_list_columns (a varchar(20) CHARACTER SET utf8mb4, b date) PARTITION BY LIST COLUMNS (a, b) (
    PARTITION p0 VALUES IN (('x', '2020-01-01'), ('it''s', NULL)), PARTITION p1 VALUES IN (('y', '2021-01-01')));
CREATE TABLE by_hash (a int NOT NULL PRIMARY KEY) PARTITION BY HASH (a) PARTITIONS 4;
CREATE TABLE by_linear_key (a int NOT NULL PRIMARY KEY, b int) PARTITION BY LINEAR KEY (a) PARTITIONS 3;
CREATE TABLE searched (id int NOT NULL PRIMARY KEY, title varchar(100), body text, FULLTEXT KEY both_texts (title, body)) CHARSET=utf8mb4;
CREATE TABLE audit (n int NOT NULL AUTO_INCREMENT PRIMARY KEY, what varchar(100) CHARACTER SET utf8mb3 NOT NULL, k int DEFAULT NULL);
CREATE TABLE `Größe 表 "x"` (`spalte ä` int COMMENT 'ä', `select` int, KEY `schlüssel ß` (`spalte ä`)) CHARSET=latin1;
CREATE TABLE kois (t varchar(10)) CHARSET=koi8r COLLATE=koi8r_bin;

INSERT INTO parent VALUES (1, 'aaa', 7), (2, 'bbb', 8), (3, 'ßü', 9);
INSERT INTO `a child` VALUES (1, 1, 7, 'aaa', NULL), (2, NULL, NULL, 'bbb', 1), (3, 3, 9, NULL, 3);
INSERT INTO computed (a, b, doc, at) VALUES
  (1, 'one', '{"id": 1, "name": "n", "tags": ["x", "y"], "numbers": [1, 2]}', '2020-01-01 00:00:01'),
  (200, NULL, NULL, '2021-01-01 00:00:01'), (NULL, 'ñ', '{"id": 9, "tags": []}', NULL);
INSERT INTO by_range VALUES (1, '1999-01-01', 'a'), (2, '2010-01-01', 'b'), (3, '2030-01-01', NULL);
INSERT INTO by_columns VALUES (1, 'a', NULL), (10, 'z', '2020-01-01'), (11, 'a', NULL);
INSERT INTO by_list VALUES (1, 1), (2, 2), (NULL, 3);
INSERT INTO by_list_columns VALUES ('x', '2020-01-01'), ('it''s', NULL), ('y', '2021-01-01');
INSERT INTO by_hash VALUES (1), (2), (3), (4), (5);
INSERT INTO by_linear_key VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO searched VALUES (1, 'a title', 'and its body'), (2, NULL, 'ñ');
INSERT INTO `Größe 表 "x"` VALUES (1, 2), (NULL, NULL);
INSERT INTO kois VALUES ('привет');

-- Views: of one another and of functions, with odd columns, options and both kinds of security.
CREATE VIEW plain AS SELECT id, code FROM parent;
CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW `view of one` (`first column`, `it's`) AS SELECT id, code FROM plain WHERE id > 0 WITH LOCAL CHECK OPTION;
CREATE ALGORITHM=TEMPTABLE VIEW grouped AS SELECT region, COUNT(*) AS n, MAX(code) FROM parent GROUP BY region HAVING n > 0;
CREATE VIEW aaa_first AS SELECT g.id, g.ab, c.id AS child, 'it''s' AS text, _latin1'x' AS l, 1.50 AS d, NOW() > '2020-01-01' AS later
  FROM computed g LEFT JOIN `a child` c ON c.id = g.id WHERE g.doc ->> '$.name' = 'n' OR EXISTS (SELECT 1 FROM plain);
CREATE VIEW united AS (SELECT 1 AS a) UNION ALL SELECT id FROM parent UNION SELECT 2 ORDER BY 1 DESC LIMIT 10;
CREATE VIEW recursive_one AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i, SUM(i) OVER (ORDER BY i) AS s FROM n;
CREATE VIEW `sicht ß` AS SELECT `spalte ä` AS ä, CASE `select` WHEN 2 THEN 'zwei' ELSE '表' END AS `c '"``` FROM `Größe 表 "x"`;

DELIMITER //
CREATE PROCEDURE simple(IN a INT, INOUT `b b` VARCHAR(10) CHARACTER SET latin1, OUT c DECIMAL(10,2))
  COMMENT 'it''s a "procedure" \\ ñ' READS SQL DATA SQL SECURITY INVOKER
BEGIN
  -- A comment stays, and so does /* this one */
  DECLARE x, y INT DEFAULT 5;
  DECLARE CONTINUE HANDLER FOR SQLSTATE '23000', NOT FOUND SET x = 1;
  again: WHILE x < 10 DO
    SET x = x + 1;
    IF x = 7 THEN LEAVE again; END IF;
  END WHILE;
  SELECT id, 'it''s \\ ñ 表' FROM parent WHERE id = a;
END//
CREATE PROCEDURE one_statement() DELETE FROM audit WHERE n < 0//
CREATE FUNCTION twice(n INT UNSIGNED) RETURNS BIGINT UNSIGNED DETERMINISTIC NO SQL RETURN n * 2//
CREATE FUNCTION `name of it`(t TEXT CHARSET utf8mb4 COLLATE utf8mb4_bin) RETURNS varchar(20) CHARSET latin1 NOT DETERMINISTIC READS SQL DATA COMMENT ''
BEGIN
  DECLARE found VARCHAR(20);
  SELECT code INTO found FROM parent WHERE id = LENGTH(t) LIMIT 1;
  RETURN IFNULL(found, "none");
END//
SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'//
CREATE PROCEDURE "ansi ""quoted"" `x`"() SELECT 'a\b' || "code" FROM "parent"//
CREATE FUNCTION ansi_function() RETURNS ENUM('a','it''s') DETERMINISTIC RETURN 'a'//
SET sql_mode = DEFAULT//
SET NAMES latin1//
CREATE PROCEDURE in_latin1() SELECT 'x'//
SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci//
CREATE TRIGGER parent_in BEFORE INSERT ON parent FOR EACH ROW
BEGIN
  SET NEW.code = UPPER(NEW.code);
  IF NEW.region < 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'it''s below'; END IF;
END//
CREATE TRIGGER parent_in_second BEFORE INSERT ON parent FOR EACH ROW SET @seen = 'ñ'//
CREATE TRIGGER `between "them"` BEFORE INSERT ON parent FOR EACH ROW PRECEDES parent_in_second SET @between = 1//
CREATE TRIGGER parent_up AFTER UPDATE ON parent FOR EACH ROW INSERT INTO audit (what, k) VALUES (CONCAT(OLD.code, '->', NEW.code), NEW.id)//
CREATE TRIGGER parent_del AFTER DELETE ON parent FOR EACH ROW INSERT INTO audit (what) VALUES ('gone')//
SET NAMES utf8mb4//
SET sql_mode = 'ANSI_QUOTES'//
CREATE TRIGGER "größe_vor" BEFORE UPDATE ON "Größe 表 ""x""" FOR EACH ROW SET NEW."spalte ä" = OLD."spalte ä" + 1//
SET sql_mode = DEFAULT//
CREATE EVENT yearly ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01 00:00:00' COMMENT 'it''s yearly \\' DO DELETE FROM audit//
CREATE EVENT `a "block" ñ` ON SCHEDULE EVERY '1:30' HOUR_MINUTE STARTS '2037-01-01 00:00:00' ENDS '2038-01-01 00:00:00' ON COMPLETION PRESERVE DISABLE
DO BEGIN
  DECLARE n INT;
  SELECT COUNT(*) INTO n FROM audit; -- told
  INSERT INTO audit (what) VALUES ('it''s ñ');
END//
SET time_zone = '+05:30', sql_mode = 'ANSI_QUOTES'//
CREATE EVENT once ON SCHEDULE AT '2037-06-01 12:00:00' DISABLE ON REPLICA DO INSERT INTO "audit" ("what") VALUES ('once')//
SET time_zone = '+00:00', sql_mode = DEFAULT//
DELIMITER ;
