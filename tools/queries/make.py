#!/usr/bin/env python3
"""Makes the data of TPC-H, TPC-DS, the Star Schema Benchmark and the Join Order Benchmark, for run.py.

    tools/queries/make.py tpch|tpcds|ssb SCALE FOLDER
    tools/queries/make.py job MOVIES FOLDER

FOLDER gets TABLE.tsv and schema.sql for each benchmark, and queries/ with the texts of TPC-H and TPC-DS. Those and their generators come with
DuckDB's extensions `tpch` and `tpcds` (packages duckdb, duckdb-ext-tpch and duckdb-ext-tpcds of one version), which whoever runs this installs:
their texts are not ours, and none is here. The 113 queries of the Join Order Benchmark are put into FOLDER/queries by whoever runs this, as NAME.sql,
and its schema.sql and fkindexes.sql into FOLDER. The data for them are ours, with skew (few movies and persons have most of the rows) and
correlation (a movie's genres and countries hang together), the same in every run.
"""
import glob, os, re, shutil, sys

import duckdb

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS_OF_TPCDS = {'call_center':'cc_call_center_sk','catalog_page':'cp_catalog_page_sk','catalog_returns':'cr_item_sk,cr_order_number','catalog_sales':'cs_item_sk,cs_order_number','customer':'c_customer_sk','customer_address':'ca_address_sk','customer_demographics':'cd_demo_sk','date_dim':'d_date_sk','household_demographics':'hd_demo_sk','income_band':'ib_income_band_sk','inventory':'inv_date_sk,inv_item_sk,inv_warehouse_sk','item':'i_item_sk','promotion':'p_promo_sk','reason':'r_reason_sk','ship_mode':'sm_ship_mode_sk','store':'s_store_sk','store_returns':'sr_item_sk,sr_ticket_number','store_sales':'ss_item_sk,ss_ticket_number','time_dim':'t_time_sk','warehouse':'w_warehouse_sk','web_page':'wp_web_page_sk','web_returns':'wr_item_sk,wr_order_number','web_sales':'ws_item_sk,ws_order_number','web_site':'web_site_sk'}
INDEXES_OF_TPCDS = {'store_sales':['ss_sold_date_sk','ss_customer_sk'],'store_returns':['sr_returned_date_sk','sr_customer_sk'],'catalog_sales':['cs_sold_date_sk','cs_bill_customer_sk'],'catalog_returns':['cr_returned_date_sk'],'web_sales':['ws_sold_date_sk','ws_bill_customer_sk','ws_order_number'],'web_returns':['wr_returned_date_sk'],'customer':['c_current_addr_sk','c_current_cdemo_sk'],'inventory':['inv_item_sk']}


def connect(extension=None):
    con = duckdb.connect()
    if extension:
        import duckdb_ext
        found = glob.glob(os.path.join(next(iter(duckdb_ext.__path__)), f"extensions/*/*/{extension}.duckdb_extension"))
        con.execute(f"load '{found[0]}'")
    return con


def write(con, folder, tables):
    for table, name in tables:
        con.execute(f"copy (select * from {table}) to '{folder}/{name}.tsv' (delimiter '\t', header false, nullstr '\\N', quote '', escape '')")


def names(con):
    return [(name, name) for (name,) in con.execute("select table_name from information_schema.tables").fetchall()]


def write_texts(con, benchmark, folder):
    for number, text in con.execute(f"select query_nr, query from {benchmark}_queries()").fetchall():
        with open(f"{folder}/queries/{number:02}.sql", "w") as out:
            out.write(text)


def tpch(scale, folder):
    con = connect("tpch")
    con.execute(f"call dbgen(sf={scale})")
    write(con, folder, names(con))
    write_texts(con, "tpch", folder)
    shutil.copy(f"{HERE}/tpch.sql", f"{folder}/schema.sql")


def tpcds(scale, folder):
    con = connect("tpcds")
    con.execute(f"call dsdgen(sf={scale})")
    write(con, folder, names(con))
    write_texts(con, "tpcds", folder)
    with open(f"{folder}/schema.sql", "w") as out:
        for (create,) in con.execute("select sql from duckdb_tables()").fetchall():
            table, columns = re.match(r"CREATE TABLE (\w+)\((.*)\);", create).groups()
            key = KEYS_OF_TPCDS[table]
            parts = []
            for name, ty in re.findall(r"(\w+) (DECIMAL\([^)]*\)|\w+)", columns):
                ty = ty.replace("VARCHAR", "VARCHAR(200)").replace("BIGINT", "INT").replace("INTEGER", "INT")
                parts.append(f"{name} {ty}" + (" NOT NULL" if name in key.split(",") else ""))
            parts += [f"PRIMARY KEY ({key})"] + [f"KEY ({column})" for column in INDEXES_OF_TPCDS.get(table, [])]
            out.write(f"CREATE TABLE {table} ({', '.join(parts)});\n")


def ssb(scale, folder):
    con = connect("tpch")
    con.execute(f"call dbgen(sf={scale})")
    # Star Schema Benchmark: lineitem and orders as one table of facts, a table of dates; cities are nations with a digit.
    con.execute("""create table dim_date as select cast(strftime(d,'%Y%m%d') as int) d_datekey, strftime(d,'%B %d, %Y') d_date, strftime(d,'%A') d_dayofweek, strftime(d,'%B') d_month, year(d) d_year, year(d)*100+month(d) d_yearmonthnum, strftime(d,'%b%Y') d_yearmonth, dayofweek(d) d_daynuminweek, day(d) d_daynuminmonth, dayofyear(d) d_daynuminyear, month(d) d_monthnuminyear, cast(ceil(dayofyear(d)/7.0) as int) d_weeknuminyear from (select unnest(generate_series(date '1992-01-01', date '1998-12-31', interval 1 day))::date d)""")
    con.execute("""create table s_customer as select c_custkey, c_name, c_address, rpad(substr(n_name,1,9),9,' ')||(c_custkey*7919%10) c_city, n_name c_nation, r_name c_region, c_phone, c_mktsegment from customer join nation on c_nationkey=n_nationkey join region on n_regionkey=r_regionkey""")
    con.execute("""create table s_supplier as select s_suppkey, s_name, s_address, rpad(substr(n_name,1,9),9,' ')||(s_suppkey*7919%10) s_city, n_name s_nation, r_name s_region, s_phone from supplier join nation on s_nationkey=n_nationkey join region on n_regionkey=r_regionkey""")
    con.execute("""create table s_part as select p_partkey, p_name, 'MFGR#'||(p_partkey%5+1) p_mfgr, 'MFGR#'||(p_partkey%5+1)||((p_partkey//5)%5+1) p_category, 'MFGR#'||(p_partkey%5+1)||((p_partkey//5)%5+1)||((p_partkey//25)%40+1) p_brand1, split_part(p_name,' ',1) p_color, p_type, p_size, p_container from part""")
    con.execute("""create table lineorder as select l_orderkey lo_orderkey, l_linenumber lo_linenumber, o_custkey lo_custkey, l_partkey lo_partkey, l_suppkey lo_suppkey, cast(strftime(o_orderdate,'%Y%m%d') as int) lo_orderdate, o_orderpriority lo_orderpriority, o_shippriority lo_shippriority, cast(l_quantity as int) lo_quantity, cast(l_extendedprice*100 as int) lo_extendedprice, cast(o_totalprice*100 as bigint) lo_ordtotalprice, cast(l_discount*100 as int) lo_discount, cast(l_extendedprice*100*(1-l_discount) as int) lo_revenue, cast(60*l_extendedprice/l_quantity as int) lo_supplycost, cast(l_tax*100 as int) lo_tax, cast(strftime(l_commitdate,'%Y%m%d') as int) lo_commitdate, l_shipmode lo_shipmode from lineitem join orders on l_orderkey=o_orderkey order by 1,2""")
    write(con, folder, [("dim_date", "dim_date"), ("s_customer", "customer"), ("s_supplier", "supplier"), ("s_part", "part"), ("lineorder", "lineorder")])
    shutil.copy(f"{HERE}/ssb.sql", f"{folder}/schema.sql")
    for text in glob.glob(f"{HERE}/ssb/*.sql"):
        shutil.copy(text, f"{folder}/queries")


def job(movies, folder):
    con = connect()
    T = int(movies)
    # deterministic random numbers: u(key, salt) in [0,1)
    con.execute("create macro u(k,s) as (hash(k*1000003+s)%1000000)/1000000.0")
    con.execute("create macro pick(l,k,s,p) as list_extract(l, 1+cast(floor(len(l)*pow(u(k,s),p)) as int))")
    def tab(name,rows,cols):
        con.execute(f"create table {name} as select {cols} from (select range+1 as i from range({rows})) order by 1")
    L=lambda xs: '['+','.join("'"+x.replace("'","''")+"'" for x in xs)+']'
    def enum(name,col,xs): tab(name,len(xs),f"i as id, list_extract({L(xs)}, cast(i as int)) as {col}")
    enum('comp_cast_type','kind',['cast','crew','complete','complete+verified'])
    enum('company_type','kind',['distributors','production companies','special effects companies','miscellaneous companies'])
    enum('kind_type','kind',['movie','tv series','tv movie','video movie','tv mini series','video game','episode'])
    enum('link_type','link',['follows','followed by','remake of','remade as','references','referenced in','spoofs','spoofed in','features','featured in','spin off from','spin off','version of','similar to','edited into','edited from','alternate language version of','unknown link','sequel'])
    enum('role_type','role',['actor','actress','producer','writer','cinematographer','composer','costume designer','director','editor','miscellaneous crew','production designer','guest'])
    infos=['genres','languages','release dates','runtimes','color info','countries','certificates','rating','votes','top 250 rank','bottom 10 rank','budget','trivia','mini biography','birth date','height','plot','goofs','quotes','gross']+[f'info {i}' for i in range(93)]
    enum('info_type','info',infos)
    IT={x:i+1 for i,x in enumerate(infos)}
    kw=['murder','sequel','character-name-in-title','violence','blood','gore','death','female-nudity','hospital','superhero','marvel-comics','based-on-comic','tv-special','fight','second-part','revenge','based-on-novel','murder-in-title','magnet','web','claw','laser','hero','martial-arts','hand-to-hand-combat','computer-animated-movie','computer-animation','nerd','loner','alienation','dignity','marvel-cinematic-universe','10,000-mile-club','sequel-to-cult','bob-sequel']
    tab('keyword',3000,f"i as id, case when i<={len(kw)} then list_extract({L(kw)},cast(i as int)) else 'keyword-'||i end as keyword, 'K'||(i%1000) as phonetic_code")
    cc=['[us]','[us]','[us]','[gb]','[de]','[fr]','[jp]','[in]','[it]','[ru]','[nl]','[pl]','[sm]','[se]','[ca]']
    cn=['Warner Bros.','Twentieth Century Fox','20th Century Fox Home Entertainment','Lionsgate','YouTube','DreamWorks Animation','Universal Film','Polygram Filmed','Film House','Warner Film Group']
    tab('company_name',4000,f"i as id, case when u(i,1)<0.15 then pick({L(cn)},i,2,1) else 'Company '||i||(case when u(i,3)<0.2 then ' Film' else '' end) end as name, case when u(i,5)<0.05 then null else pick({L(cc)},i,4,1.5) end as country_code, null as imdb_id, 'C'||(i%100) as name_pcode_nf, 'S'||(i%77) as name_pcode_sf, md5(cast(i as varchar)) as md5sum")
    tw=['Saw','Shrek 2','Champion','Loser','Kung Fu Panda','Dragon Ball Z','One Piece','Vampire','Murder','Movie','Money','Mord','Jason','Freddy','Birdemic','Night','Love','House','River','King']
    tab('title',T,f"i as id, case when u(i,1)<0.3 then pick({L(tw)},i,2,1.3)||(case when u(i,3)<0.3 then '' else ' '||(i%50) end) else 'Title '||i end as title, null as imdb_index, 1+cast(floor(7*pow(u(i,4),2.5)) as int) as kind_id, case when u(i,5)<0.03 then null else 2015-cast(floor(110*pow(u(i,6),2)) as int) end as production_year, null as imdb_id, 'T'||(i%999) as phonetic_code, null as episode_of_id, null as season_nr, case when u(i,7)<0.3 then cast(floor(120*u(i,8)) as int) end as episode_nr, null as series_years, md5(cast(i as varchar)) as md5sum")
    P=int(T*1.6)
    nm=['Angelina','Anna','Bert','Tim','Robert','Downey, Robert','Yoko','Yu','Zed','Xavier','Andrew','Ben','Angela','Bob','Alan']
    tab('name',P,f"i as id, pick({L(nm)},i,1,1.2)||' '||chr(65+cast(floor(26*u(i,2)) as int))||(i%5000) as name, null as imdb_index, null as imdb_id, case when u(i,3)<0.1 then null when u(i,3)<0.65 then 'm' else 'f' end as gender, chr(65+cast(floor(26*u(i,4)) as int))||(i%600) as name_pcode_cf, 'N'||(i%100) as name_pcode_nf, 'S'||(i%50) as surname_pcode, md5(cast(i as varchar)) as md5sum")
    tab('char_name',int(T*1.2),f"i as id, case when i=77 then 'Queen' when u(i,1)<0.02 then 'Tony Stark Iron Man' when u(i,1)<0.05 then 'Sherlock Holmes' when u(i,1)<0.1 then 'Superman '||i else 'Character '||i end as name, null as imdb_index, null as imdb_id, 'C'||(i%100) as name_pcode_nf, 'S'||(i%100) as surname_pcode, md5(cast(i as varchar)) as md5sum")
    # skew: few movies and persons have most of the rows
    M=lambda s: f"1+cast(floor({T}*pow(u(i,{s}),1.3)) as int)"
    PP=lambda s: f"1+cast(floor({P}*pow(u(i,{s}),1.3)) as int)"
    notes=['(voice)','(voice) (uncredited)','(voice: English version)','(uncredited)','(producer)','(executive producer)','(writer)','(head writer)','(written by)','(story)','(story editor)','(as himself)']
    tab('cast_info',T*14,f"i as id, {PP(1)} as person_id, {M(2)} as movie_id, case when u(i,3)<0.5 then 1+cast(floor({int(T*1.2)}*pow(u(i,4),2)) as int) end as person_role_id, case when u(i,5)<0.5 then null else pick({L(notes)},i,6,1.4) end as note, cast(floor(60*u(i,7)) as int) as nr_order, 1+cast(floor(11*pow(u(i,8),1.8)) as int) as role_id")
    tab('aka_name',int(T*0.36),f"i as id, {PP(1)} as person_id, pick({L(nm)},i,2,1)||' aka '||i as name, null as imdb_index, null as name_pcode_cf, null as name_pcode_nf, 'S'||(i%50) as surname_pcode, md5(cast(i as varchar)) as md5sum")
    tab('aka_title',int(T*0.15),f"i as id, {M(1)} as movie_id, 'Aka '||i as title, null as imdb_index, 1+cast(floor(7*u(i,2)) as int) as kind_id, 1950+cast(floor(65*u(i,3)) as int) as production_year, null as phonetic_code, null as episode_of_id, null as season_nr, null as episode_nr, null as note, null as md5sum")
    tab('complete_cast',int(T*0.06),f"i as id, {M(1)} as movie_id, 1+cast(floor(2*u(i,2)) as int) as subject_id, 3+cast(floor(2*pow(u(i,3),2)) as int) as status_id")
    mc=['(VHS)','(USA)','(worldwide)','(Japan)','(TV)','(2006) (USA) (TV)','(2007) (worldwide)','(2013) (USA) (theatrical)','(1994) (USA)','(as Metro-Goldwyn-Mayer Pictures)','(co-production)','(presents)','(200x) (France)','(Blu-ray)','(theatrical)']
    tab('movie_companies',int(T*1.05),f"i as id, {M(1)} as movie_id, 1+cast(floor(4000*pow(u(i,2),3)) as int) as company_id, 1+cast(floor(2.02*u(i,3)) as int) as company_type_id, case when u(i,4)<0.45 then null else pick({L(mc)},i,5,1) end as note")
    g=['Drama','Comedy','Horror','Thriller','Action','Crime','Sci-Fi','War','Western','Family','Documentary','Short']
    co=['USA','Germany','Sweden','Norway','Denmark','Bulgaria','German','English','Swedish','Danish','Norwegian','American','Denish','America']
    # the movie decides about its genre: correlation
    tab('movie_info',int(T*6),f"i as id, {M(1)} as movie_id, case when u(i,2)<0.25 then {IT['genres']} when u(i,2)<0.45 then {IT['release dates']} when u(i,2)<0.6 then {IT['countries']} when u(i,2)<0.7 then {IT['languages']} when u(i,2)<0.73 then {IT['budget']} when u(i,2)<0.78 then {IT['rating']} else 1+cast(floor(110*u(i,3)) as int) end as info_type_id, '' as info, case when u(i,4)<0.85 then null else 'internet note '||(i%9) end as note")
    con.execute(f"create table mi2 as select id, movie_id, info_type_id, case info_type_id when {IT['genres']} then pick({L(g)}, case when u(id,9)<0.7 then movie_id%97 else id end, 10, 1.3) when {IT['countries']} then pick({L(co)}, case when u(id,9)<0.7 then movie_id%89 else id end,11,1.4) when {IT['languages']} then pick({L(['English','German','Swedish','French'])},id,12,1.2) when {IT['release dates']} then pick({L(['USA','Japan','Germany','UK'])},id,13,1.2)||':'||(1+id%28)||' '||pick({L(['January','May','August'])},id,14,1)||' '||(1990+id%24) else 'text '||(id%5000) end as info, note from movie_info order by 1")
    tab('movie_info_idx',int(T*0.55),f"i as id, {M(1)} as movie_id, case when u(i,2)<0.45 then {IT['rating']} when u(i,2)<0.9 then {IT['votes']} when u(i,2)<0.97 then {IT['top 250 rank']} else {IT['bottom 10 rank']} end as info_type_id, case when u(i,2)<0.45 then cast(round(1+9*u(i,3),1) as varchar) else cast(cast(floor(10000*u(i,4)) as int) as varchar) end as info, null as note")
    tab('movie_keyword',int(T*1.8),f"i as id, {M(1)} as movie_id, 1+cast(floor(3000*pow(u(i,2),3.5)) as int) as keyword_id")
    tab('movie_link',int(T*0.02)+200,f"i as id, {M(1)} as movie_id, {M(2)} as linked_movie_id, 1+cast(floor(18*pow(u(i,3),2)) as int) as link_type_id")
    tab('person_info',int(T*1.2),f"i as id, {PP(1)} as person_id, case when u(i,2)<0.3 then {IT['mini biography']} when u(i,2)<0.5 then {IT['trivia']} when u(i,2)<0.6 then {IT['height']} else 1+cast(floor(110*u(i,3)) as int) end as info_type_id, 'person info '||i as info, case when u(i,4)<0.05 then 'Volker Boehm' end as note")
    con.execute("drop table movie_info; alter table mi2 rename to movie_info")
    write(con, folder, names(con))
    indexes = {}
    for table, column in re.findall(r"on (\w+)\((\w+)\)", open(f"{folder}/fkindexes.sql").read()):
        indexes.setdefault(table, []).append(column)
    creates = re.findall(r"CREATE TABLE (\w+) \((.*?)\);", open(f"{folder}/schema.sql").read(), re.S)
    with open(f"{folder}/schema.sql", "w") as out:
        for table, columns in creates:
            columns = re.sub(r"\s+", " ", columns).strip().replace("character varying", "VARCHAR").replace("integer", "INT").replace(" text", " VARCHAR(255)")
            columns += "".join(f", KEY ({column})" for column in indexes.get(table, []))
            out.write(f"CREATE TABLE {table} ({columns});\n")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("tpch", "tpcds", "ssb", "job"):
        sys.exit(__doc__)
    benchmark, size, folder = sys.argv[1:]
    os.makedirs(f"{folder}/queries", exist_ok=True)
    {"tpch": tpch, "tpcds": tpcds, "ssb": ssb, "job": job}[benchmark](size, folder)
