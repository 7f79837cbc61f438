create database load_xml
use load_xml
create table t (id int, name varchar(30) default 'dflt', base varchar(10), deep varchar(10))
create table n (id int not null, name varchar(30) not null default 'dflt', ts timestamp not null default current_timestamp)
