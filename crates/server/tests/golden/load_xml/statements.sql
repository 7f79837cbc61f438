load xml local infile 'rows.xml' into table t
load xml local infile 'rows.xml' into table t rows identified by '<row>' ignore 2 lines
load xml local infile 'rows.xml' into table t rows identified by '<other>'
load xml local infile 'rows.xml' into table t rows identified by 'row'
load xml local infile 'rows.xml' into table t (id, @name) set name = concat('[', ifnull(@name,'null'), ']')
load xml local infile 'rows.xml' into table t (ID, Name)
load xml local infile 'rows.xml' into table t fields terminated by ',' (deep, base)
load xml local infile 'rows.xml' into table n
