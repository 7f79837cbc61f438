-- The 21 tables of `cargo harness dump-test`: every type and feature that a dump must carry over.
-- The values come from the columns' types (values.rs); columns of one-column keys get distinct values.

CREATE TABLE integers_signed (
  id int NOT NULL AUTO_INCREMENT,
  t tinyint DEFAULT NULL,
  s smallint DEFAULT '-12',
  m mediumint NOT NULL DEFAULT '0',
  i int DEFAULT '2147483647',
  b bigint DEFAULT '-9223372036854775808',
  flag tinyint(1) NOT NULL DEFAULT '1',
  yes boolean,
  wide int(11) DEFAULT NULL,
  PRIMARY KEY (id),
  KEY t (t),
  KEY sm (s, m DESC),
  KEY b (b DESC)
);
CREATE TABLE integers_unsigned (
  id bigint unsigned NOT NULL,
  t tinyint unsigned DEFAULT '255',
  s smallint unsigned NOT NULL,
  m mediumint unsigned,
  i int unsigned DEFAULT '4294967295',
  b bigint unsigned DEFAULT '18446744073709551615',
  e int unsigned DEFAULT (1 + 2 * 3),
  PRIMARY KEY (id DESC),
  KEY i (i),
  KEY tb (t, b),
  CONSTRAINT small_is_smaller CHECK (s <= 65535),
  CHECK (id >= 0 AND (b IS NULL OR b >= 0))
) COMMENT='unsigned: 0 to 2^64-1';
CREATE TABLE integers_zerofill (
  id int(8) unsigned zerofill NOT NULL AUTO_INCREMENT,
  t tinyint(2) unsigned zerofill DEFAULT '07',
  s smallint unsigned zerofill,
  m mediumint(5) unsigned zerofill NOT NULL,
  i int unsigned zerofill,
  b bigint(20) unsigned zerofill,
  b3 bigint(3) unsigned zerofill DEFAULT NULL,
  PRIMARY KEY (id),
  KEY m (m)
);
CREATE TABLE decimals (
  code decimal(20,4) NOT NULL,
  d1 decimal(1,0) DEFAULT '5',
  d5 decimal(5,2) NOT NULL DEFAULT '-1.50',
  d10 decimal(10,0),
  d30 decimal(30,10),
  d65 decimal(65,30),
  d65n decimal(65,0),
  frac decimal(30,30),
  u decimal(12,3) unsigned DEFAULT '0.125',
  z decimal(9,2) unsigned zerofill,
  PRIMARY KEY (code),
  KEY d5 (d5),
  KEY d65 (d65 DESC, d10)
);
CREATE TABLE floats (
  id int NOT NULL AUTO_INCREMENT PRIMARY KEY,
  f float,
  d double,
  fu float unsigned NOT NULL DEFAULT '1.5',
  du double unsigned DEFAULT '1e-300',
  fm float(7,3) DEFAULT NULL,
  dm double(14,4) DEFAULT '-0.5000',
  fz float unsigned zerofill,
  dz double(12,2) unsigned zerofill,
  KEY f (f),
  KEY d (d)
);
CREATE TABLE chars_0900_ai_ci (
  name varchar(60) NOT NULL,
  c char(30) DEFAULT 'it''s',
  v varchar(300) DEFAULT 'back\\slash "and" \'quote\'\n',
  t text,
  c255 char(255),
  UNIQUE KEY name (name),
  PRIMARY KEY (name),
  KEY c (c),
  KEY t (t(20)),
  KEY vc (v(10) DESC, c(5))
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
CREATE TABLE chars_general_ci (
  id int NOT NULL AUTO_INCREMENT,
  c char(30) NOT NULL DEFAULT '',
  v varchar(200) DEFAULT '😀 %_',
  tt tinytext,
  t text,
  PRIMARY KEY (id),
  KEY v (v),
  KEY c (c DESC)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE chars_bin (
  code varchar(20) NOT NULL,
  c char(30),
  v varchar(200),
  t text,
  PRIMARY KEY (code),
  KEY v (v)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE chars_latin1 (
  id int unsigned NOT NULL AUTO_INCREMENT,
  c char(30) DEFAULT 'ÿé',
  v varchar(1000),
  t text,
  v_de varchar(50) COLLATE latin1_german1_ci DEFAULT NULL,
  v_bin varchar(50) COLLATE latin1_bin DEFAULT NULL,
  PRIMARY KEY (id),
  KEY c (c),
  KEY v (v(100))
) DEFAULT CHARSET=latin1;
CREATE TABLE chars_mixed (
  id int NOT NULL AUTO_INCREMENT,
  a varchar(40) CHARACTER SET latin1 DEFAULT 'à',
  b varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  c varchar(40) COLLATE utf8mb4_general_ci,
  d varchar(40) COLLATE utf8mb4_0900_ai_ci,
  e varchar(40) CHARACTER SET binary,
  f text CHARACTER SET latin1 COLLATE latin1_bin,
  g enum('é','ß') CHARACTER SET latin1,
  h char(10) CHARACTER SET utf8mb4,
  i varchar(40),
  PRIMARY KEY (id, b),
  KEY ab (a, b),
  KEY cd (c(5), d(7))
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE binaries (
  id binary(16) NOT NULL,
  b binary(5) DEFAULT '\0abc\0',
  v varbinary(300) DEFAULT 'x''y',
  v2 varbinary(16) NOT NULL DEFAULT '',
  one binary,
  PRIMARY KEY (id),
  KEY b (b),
  KEY v (v(20) DESC)
);
CREATE TABLE blobs (
  id int NOT NULL AUTO_INCREMENT,
  tb tinyblob,
  b blob,
  mb mediumblob,
  lb longblob,
  PRIMARY KEY (id),
  KEY b (b(50)),
  KEY tb (tb(255))
);
CREATE TABLE texts (
  id int NOT NULL AUTO_INCREMENT,
  tt tinytext,
  t text NOT NULL,
  mt mediumtext,
  lt longtext CHARACTER SET latin1,
  e text DEFAULT (concat('a\'b', "\\", 'ç')),
  PRIMARY KEY (id),
  KEY mt (mt(12))
);
CREATE TABLE temporals (
  id int NOT NULL,
  d date DEFAULT '2000-02-29',
  t time DEFAULT '-12:34:56',
  dt datetime DEFAULT CURRENT_TIMESTAMP,
  ts timestamp NULL DEFAULT NULL,
  t1 time(1), t2 time(2), t3 time(3) NOT NULL, t4 time(4), t5 time(5), t6 time(6) DEFAULT '-00:00:00.000001',
  dt1 datetime(1), dt2 datetime(2), dt3 datetime(3) DEFAULT '1000-01-01 00:00:00.999', dt4 datetime(4), dt5 datetime(5),
  dt6 datetime(6) NOT NULL,
  y year DEFAULT '2026',
  PRIMARY KEY (id),
  KEY d (d DESC),
  KEY t6 (t6),
  KEY dt6 (dt6, y)
);
CREATE TABLE timestamps (
  at datetime(6) NOT NULL,
  ts timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  ts1 timestamp(1) NULL DEFAULT NULL,
  ts2 timestamp(2) NULL DEFAULT '2038-01-19 03:14:07.99',
  ts3 timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  ts4 timestamp(4) NULL,
  ts5 timestamp(5) NULL DEFAULT CURRENT_TIMESTAMP(5) ON UPDATE CURRENT_TIMESTAMP(5),
  ts6 timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  changed datetime(3) DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(3),
  soon datetime DEFAULT (CURRENT_TIMESTAMP + INTERVAL 1 DAY),
  PRIMARY KEY (at),
  KEY ts6 (ts6)
);
CREATE TABLE zero_dates (
  id int NOT NULL AUTO_INCREMENT,
  d date NOT NULL DEFAULT '0000-00-00',
  dt datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
  dt3 datetime(3) DEFAULT '2020-00-00 00:00:00.000',
  ts timestamp NOT NULL DEFAULT '0000-00-00 00:00:00',
  y year NOT NULL DEFAULT '0000',
  PRIMARY KEY (id),
  KEY d (d),
  KEY ts (ts)
);
CREATE TABLE enums_sets_bits (
  id int NOT NULL AUTO_INCREMENT,
  e enum('a','B','it''s','comma,','','ünï','back\\slash') DEFAULT 'it''s',
  e1 enum('only') NOT NULL,
  s set('x','y z','q''t','ñ','5','6','7','8','9') NOT NULL DEFAULT 'x,q''t',
  s64 set('1','2','3','4','5','6','7','8','9','10','11','12','13','14','15','16','17','18','19','20','21','22','23','24','25','26',
    '27','28','29','30','31','32','33','34','35','36','37','38','39','40','41','42','43','44','45','46','47','48','49','50','51','52',
    '53','54','55','56','57','58','59','60','61','62','63','64'),
  b1 bit(1) NOT NULL DEFAULT b'1',
  b7 bit(7), b8 bit(8), b13 bit(13) DEFAULT b'101', b33 bit(33), b64 bit(64) DEFAULT b'0', b bit,
  PRIMARY KEY (id),
  KEY e (e),
  KEY s (s),
  KEY b13 (b13)
);
CREATE TABLE documents (
  id varchar(36) CHARACTER SET latin1 NOT NULL,
  doc json NOT NULL,
  more json DEFAULT NULL,
  d json DEFAULT (json_object('a', json_array(1, NULL, 'x'))),
  PRIMARY KEY (id),
  CONSTRAINT doc_is_json CHECK (json_valid(doc))
);
CREATE TABLE geometries (
  id int NOT NULL,
  g geometry DEFAULT NULL,
  p point NOT NULL SRID 4326,
  l linestring NOT NULL,
  y polygon SRID 0 COMMENT 'plane',
  mp multipoint, ml multilinestring, my multipolygon SRID 3857,
  c geometrycollection DEFAULT (geometrycollection(point(1, 2))),
  PRIMARY KEY (id),
  SPATIAL KEY p (p),
  SPATIAL KEY l (l) COMMENT 'without SRID'
);
CREATE TABLE `it's a "quoted" ``name`` ñ 表` (
  `a``b` int NOT NULL AUTO_INCREMENT COMMENT 'it''s "the" key\nof two lines \\',
  `select` varchar(30) NOT NULL DEFAULT '' COMMENT '表😀',
  `x y` int DEFAULT NULL INVISIBLE COMMENT 'invisible',
  `ünï 'c'` varchar(50) COLLATE utf8mb4_bin DEFAULT (upper('x')),
  `1` decimal(6,2) NOT NULL DEFAULT '0.00',
  PRIMARY KEY (`a``b`),
  UNIQUE KEY `u"1` (`select`(12), `a``b`) COMMENT 'a ''unique'' key',
  UNIQUE KEY `hash` (`1`, `a``b` DESC) USING BTREE,
  KEY `in visible` (`x y`) INVISIBLE,
  KEY `Ñ` (`ünï 'c'`(4) DESC, `x y`),
  CONSTRAINT `it's checked` CHECK (`1` > -10000 AND `select` <> 'never ''this'''),
  CONSTRAINT `off` CHECK (`x y` IS NULL) NOT ENFORCED
) AUTO_INCREMENT=2000000000 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8 STATS_PERSISTENT=1 STATS_AUTO_RECALC=0 STATS_SAMPLE_PAGES=10
  MAX_ROWS=2000000 MIN_ROWS=10 AVG_ROW_LENGTH=100 PACK_KEYS=1 CHECKSUM=1 DELAY_KEY_WRITE=1 COMMENT='it''s \\ a "comment" ñ 表 😀';
CREATE TABLE no_primary_key (
  a int DEFAULT NULL,
  b varchar(100),
  c datetime(2) DEFAULT NULL,
  d double,
  KEY a (a),
  KEY cb (c, b)
) ROW_FORMAT=DYNAMIC;
