#!/usr/bin/env sysbench
-- TPC-C for sysbench, after the TPC Benchmark C specification, revision 5.11: its schema, its initial rows, its five
-- transactions in the standard mix. No terminals, keying and think times: every thread sends one transaction after the
-- other, each to a warehouse at random. No foreign keys.
--
--   sysbench tpcc.lua ... --warehouses=10 prepare      creates the tables, and the items
--   sysbench tpcc.lua ... --warehouses=10 fill         fills the warehouses; --threads=N share them
--   sysbench tpcc.lua ... --warehouses=10 run
--
-- A transaction that the server rolls back (deadlock, lock wait, snapshot conflict) is run again with the same input.
-- Statements lock in one order: warehouse, district, customer, stock by warehouse and item.

local DISTRICTS = 10
local STOCK_LEVEL_ORDERS = 20

-- Set by `connect`. Customers are those of a district, which begins with as many orders, the last three tenths undelivered.
local ITEMS, CUSTOMERS, FIRST_UNDELIVERED, NAMES

-- Constants of NURand: the distance of the two for last names is one that clause 2.1.6.1 allows.
local C_LAST_LOAD, C_LAST_RUN = 50, 130
local C_CUSTOMER, C_ITEM = 259, 7911

sysbench.cmdline.options = {
   warehouses = {"Number of warehouses", 1},
   items = {"Number of items; the specification's is the default", 100000},
   customers = {"Number of customers of a district; the specification's is the default", 3000},
   mysql_storage_engine = {"Storage engine of the tables", "innodb"},
}

local tables = {
   warehouse = [[
      w_id SMALLINT NOT NULL PRIMARY KEY, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20),
      w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2)]],
   district = [[
      d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20),
      d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT,
      PRIMARY KEY (d_w_id, d_id)]],
   customer = [[
      c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2),
      c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9),
      c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4),
      c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt SMALLINT, c_delivery_cnt SMALLINT, c_data TEXT,
      PRIMARY KEY (c_w_id, c_d_id, c_id), KEY customer_name (c_w_id, c_d_id, c_last, c_first)]],
   history = [[
      h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT, h_date DATETIME,
      h_amount DECIMAL(6,2), h_data VARCHAR(24)]],
   orders = [[
      o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT, o_entry_d DATETIME, o_carrier_id TINYINT,
      o_ol_cnt TINYINT, o_all_local TINYINT,
      PRIMARY KEY (o_w_id, o_d_id, o_id), KEY orders_customer (o_w_id, o_d_id, o_c_id, o_id)]],
   new_order = [[
      no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id)]],
   order_line = [[
      ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, ol_number TINYINT NOT NULL, ol_i_id INT,
      ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, ol_quantity TINYINT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24),
      PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)]],
   item = [[
      i_id INT NOT NULL PRIMARY KEY, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50)]],
   stock = [[
      s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT, s_dist_01 CHAR(24), s_dist_02 CHAR(24),
      s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24),
      s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), s_order_cnt SMALLINT, s_remote_cnt SMALLINT,
      s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)]],
}

local con

local function connect()
   ITEMS, CUSTOMERS = sysbench.opt.items, sysbench.opt.customers
   FIRST_UNDELIVERED = math.floor(CUSTOMERS * 7 / 10) + 1
   NAMES = math.min(1000, CUSTOMERS)
   con = sysbench.sql.driver():connect()
end

-- Random values

local uniform = sysbench.rand.uniform

local function letters(from, to)
   return sysbench.rand.string(string.rep("@", uniform(from, to)))
end

local function digits(count)
   return sysbench.rand.string(string.rep("#", count))
end

-- A bitwise or, which plain Lua has no operator for.
local bor = require("bit").bor

local function nurand(a, constant, from, to)
   return (bor(uniform(0, a), uniform(from, to)) + constant) % (to - from + 1) + from
end

local syllables = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

-- Clause 4.3.2.3: the three digits of a number as syllables.
local function last_name(number)
   local function at(digit) return syllables[math.floor(number / digit) % 10 + 1] end
   return at(100) .. at(10) .. at(1)
end

-- A tenth of items and stock is "ORIGINAL".
local function item_data()
   local data = letters(26, 50)
   if uniform(1, 10) > 1 then
      return data
   end
   local at = uniform(0, #data - 8)
   return data:sub(1, at) .. "ORIGINAL" .. data:sub(at + 9)
end

local function permutation(count)
   local list = {}
   for i = 1, count do list[i] = i end
   for i = count, 2, -1 do
      local j = uniform(1, i)
      list[i], list[j] = list[j], list[i]
   end
   return list
end

-- Filling

local function bulk(name, columns, rows)
   con:bulk_insert_init(string.format("INSERT INTO %s (%s) VALUES", name, columns))
   rows(function(...) con:bulk_insert_next("(" .. string.format(...) .. ")") end)
   con:bulk_insert_done()
end

local function address()
   return string.format("'%s','%s','%s','%s','%s11111'", letters(10, 20), letters(10, 20), letters(10, 20), letters(2, 2), digits(4))
end

local function fill_items()
   bulk("item", "i_id, i_im_id, i_name, i_price, i_data", function(row)
      for i = 1, ITEMS do
         row("%d,%d,'%s',%.2f,'%s'", i, uniform(1, 10000), letters(14, 24), uniform(100, 10000) / 100, item_data())
      end
   end)
end

local function fill_stock(w)
   local columns = "s_i_id, s_w_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data"
   for d = 1, DISTRICTS do columns = columns .. string.format(", s_dist_%02d", d) end
   bulk("stock", columns, function(row)
      for i = 1, ITEMS do
         local dist = {}
         for d = 1, DISTRICTS do dist[d] = "'" .. letters(24, 24) .. "'" end
         row("%d,%d,%d,0,0,0,'%s',%s", i, w, uniform(10, 100), item_data(), table.concat(dist, ","))
      end
   end)
end

local function fill_customers(w, d)
   bulk("customer", "c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, " ..
        "c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data", function(row)
      for c = 1, CUSTOMERS do
         local name = last_name(c <= NAMES and c - 1 or nurand(255, C_LAST_LOAD, 0, NAMES - 1))
         local credit = uniform(1, 10) == 1 and "BC" or "GC"
         row("%d,%d,%d,'%s','OE','%s',%s,'%s',NOW(),'%s',50000,%.4f,-10,10,1,0,'%s'", c, d, w, letters(8, 16), name, address(),
             digits(16), credit, uniform(0, 5000) / 10000, letters(300, 500))
      end
   end)
   bulk("history", "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data", function(row)
      for c = 1, CUSTOMERS do
         row("%d,%d,%d,%d,%d,NOW(),10,'%s'", c, d, w, d, w, letters(12, 24))
      end
   end)
end

local function fill_orders(w, d)
   local lines = {}
   local customers = permutation(CUSTOMERS)
   bulk("orders", "o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local", function(row)
      for o = 1, CUSTOMERS do
         lines[o] = uniform(5, 15)
         local carrier = o < FIRST_UNDELIVERED and tostring(uniform(1, 10)) or "NULL"
         row("%d,%d,%d,%d,NOW(),%s,%d,1", o, d, w, customers[o], carrier, lines[o])
      end
   end)
   bulk("order_line", "ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, " ..
        "ol_dist_info", function(row)
      for o = 1, CUSTOMERS do
         local delivered = o < FIRST_UNDELIVERED
         for l = 1, lines[o] do
            local amount = delivered and 0 or uniform(1, 999999) / 100
            row("%d,%d,%d,%d,%d,%d,%s,5,%.2f,'%s'", o, d, w, l, uniform(1, ITEMS), w, delivered and "NOW()" or "NULL", amount,
                letters(24, 24))
         end
      end
   end)
   bulk("new_order", "no_o_id, no_d_id, no_w_id", function(row)
      for o = FIRST_UNDELIVERED, CUSTOMERS do row("%d,%d,%d", o, d, w) end
   end)
end

-- Every customer has paid 10.
local function fill_warehouse(w)
   con:query(string.format("INSERT INTO warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd) " ..
      "VALUES (%d,'%s',%s,%.4f,%d)", w, letters(6, 10), address(), uniform(0, 2000) / 10000, DISTRICTS * CUSTOMERS * 10))
   for d = 1, DISTRICTS do
      con:query(string.format("INSERT INTO district (d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, " ..
         "d_ytd, d_next_o_id) VALUES (%d,%d,'%s',%s,%.4f,%d,%d)", d, w, letters(6, 10), address(), uniform(0, 2000) / 10000,
         CUSTOMERS * 10, CUSTOMERS + 1))
   end
   fill_stock(w)
   for d = 1, DISTRICTS do
      fill_customers(w, d)
      fill_orders(w, d)
   end
end

local function prepare()
   connect()
   for name, columns in pairs(tables) do
      con:query(string.format("CREATE TABLE %s (%s) ENGINE = %s", name, columns, sysbench.opt.mysql_storage_engine))
   end
   fill_items()
end

local function fill()
   connect()
   for w = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.warehouses, sysbench.opt.threads do
      fill_warehouse(w)
   end
end

sysbench.cmdline.commands = {
   prepare = {prepare},
   fill = {fill, sysbench.cmdline.PARALLEL_COMMAND},
}

-- Transactions. A result is valid until the next query of the connection.

local function query(...)
   return con:query(string.format(...))
end

-- The first row's columns; fails where there is none.
local function row(...)
   local found = query(...):fetch_row()
   if found == nil then
      error("no row: " .. string.format(...))
   end
   return unpack(found, 1, 8)
end

local function all_rows(...)
   local result = query(...)
   local rows = {}
   for i = 1, tonumber(result.nrows) do rows[i] = result:fetch_row() end
   return rows
end

-- Clause 2.5.2.2: the middle one of the customers with a name, or the customer with a number.
local function find_customer(w, d, by)
   if by.id then
      return by.id
   end
   local rows = all_rows("SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first", w, d, by.name)
   return tonumber(rows[math.ceil(#rows / 2)][1])
end

local function any_warehouse()
   return uniform(1, sysbench.opt.warehouses)
end

local function other_warehouse(w)
   if sysbench.opt.warehouses == 1 then
      return w
   end
   local other = uniform(1, sysbench.opt.warehouses - 1)
   return other < w and other or other + 1
end

local function any_customer()
   return nurand(1023, C_CUSTOMER, 1, CUSTOMERS)
end

local function customer_by_name_or_id()
   if uniform(1, 100) <= 60 then
      return {name = last_name(nurand(255, C_LAST_RUN, 0, NAMES - 1))}
   end
   return {id = any_customer()}
end

-- Each of these draws its input and returns the function that runs it.

local function new_order()
   local w, d, c = any_warehouse(), uniform(1, DISTRICTS), any_customer()
   local lines, all_local = {}, 1
   for l = 1, uniform(5, 15) do
      local supply = w
      if uniform(1, 100) == 1 then supply = other_warehouse(w) end
      if supply ~= w then all_local = 0 end
      lines[l] = {item = nurand(8191, C_ITEM, 1, ITEMS), supply = supply, quantity = uniform(1, 10)}
   end
   table.sort(lines, function(a, b)
      if a.supply ~= b.supply then return a.supply < b.supply end
      return a.item < b.item
   end)
   -- Clause 2.4.1.4: one in a hundred names an item that is not there, and is rolled back.
   if uniform(1, 100) == 1 then lines[#lines].item = ITEMS + 1 end

   return function()
      query("BEGIN")
      local _, o = row("SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE", w, d)
      query("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %d AND d_id = %d", w, d)
      row("SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = %d AND c_w_id = w_id AND c_d_id = %d " ..
          "AND c_id = %d", w, d, c)
      query("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (%d,%d,%d,%d,NOW(),%d,%d)",
            o, d, w, c, #lines, all_local)
      query("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (%d,%d,%d)", o, d, w)
      for number, line in ipairs(lines) do
         local item = query("SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", line.item):fetch_row()
         if item == nil then
            query("ROLLBACK")
            return
         end
         local quantity, _, info = row("SELECT s_quantity, s_data, s_dist_%02d FROM stock WHERE s_i_id = %d AND s_w_id = %d FOR UPDATE",
                                       d, line.item, line.supply)
         quantity = tonumber(quantity) - line.quantity
         if quantity < 10 then quantity = quantity + 91 end
         query("UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %d " ..
               "WHERE s_i_id = %d AND s_w_id = %d", quantity, line.quantity, line.supply == w and 0 or 1, line.item, line.supply)
         query("INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, " ..
               "ol_dist_info) VALUES (%d,%d,%d,%d,%d,%d,%d,%.2f,'%s')", o, d, w, number, line.item, line.supply, line.quantity,
               line.quantity * tonumber(item[1]), info)
      end
      query("COMMIT")
   end
end

local function payment()
   local w, d = any_warehouse(), uniform(1, DISTRICTS)
   local c_w, c_d = w, d
   if uniform(1, 100) > 85 then
      c_w, c_d = other_warehouse(w), uniform(1, DISTRICTS)
   end
   local by, amount = customer_by_name_or_id(), uniform(100, 500000) / 100

   return function()
      query("BEGIN")
      query("UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d", amount, w)
      query("UPDATE district SET d_ytd = d_ytd + %.2f WHERE d_w_id = %d AND d_id = %d", amount, w, d)
      local w_name = row("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = %d", w)
      local d_name = row("SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = %d AND d_id = %d",
                         w, d)
      local c = find_customer(c_w, c_d, by)
      local credit, data = row("SELECT c_credit, c_data, c_first, c_last, c_phone, c_credit_lim, c_discount, c_balance FROM customer " ..
                               "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE", c_w, c_d, c)
      local more = ""
      if credit == "BC" then
         local noted = string.format("%d %d %d %d %d %.2f|%s", c, c_d, c_w, d, w, amount, data)
         more = string.format(", c_data = '%s'", noted:sub(1, 500))
      end
      query("UPDATE customer SET c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + %.2f, c_payment_cnt = c_payment_cnt + 1%s " ..
            "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", amount, amount, more, c_w, c_d, c)
      query("INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) " ..
            "VALUES (%d,%d,%d,%d,%d,NOW(),%.2f,'%s    %s')", c, c_d, c_w, d, w, amount, w_name, d_name)
      query("COMMIT")
   end
end

local function order_status()
   local w, d, by = any_warehouse(), uniform(1, DISTRICTS), customer_by_name_or_id()
   return function()
      query("BEGIN")
      local c = find_customer(w, d, by)
      row("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", w, d, c)
      local o = row("SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d " ..
                    "ORDER BY o_id DESC LIMIT 1", w, d, c)
      all_rows("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line " ..
               "WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
      query("COMMIT")
   end
end

local function delivery()
   local w, carrier = any_warehouse(), uniform(1, 10)
   return function()
      query("BEGIN")
      for d = 1, DISTRICTS do
         local oldest = query("SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d ORDER BY no_o_id LIMIT 1 FOR UPDATE",
                              w, d):fetch_row()
         if oldest ~= nil then
            local o = oldest[1]
            query("DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d", w, d, o)
            local c = row("SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", w, d, o)
            query("UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", carrier, w, d, o)
            query("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
            local amount = row("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
            query("UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 " ..
                  "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", amount, w, d, c)
         end
      end
      query("COMMIT")
   end
end

local function stock_level()
   local w, d, threshold = any_warehouse(), uniform(1, DISTRICTS), uniform(10, 20)
   return function()
      query("BEGIN")
      local next = row("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
      row("SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d " ..
          "AND ol_o_id >= %d AND s_w_id = %d AND s_i_id = ol_i_id AND s_quantity < %d", w, d, next, next - STOCK_LEVEL_ORDERS, w,
          threshold)
      query("COMMIT")
   end
end

-- Clause 5.2.3: at least 43, 4, 4 and 4 in a hundred; the rest are new orders.
local function draw()
   local at = uniform(1, 100)
   if at <= 43 then return payment() end
   if at <= 47 then return order_status() end
   if at <= 51 then return delivery() end
   if at <= 55 then return stock_level() end
   return new_order()
end

local pending

function thread_init()
   connect()
end

function event()
   pending = pending or draw()
   pending()
   pending = nil
end

function sysbench.hooks.before_restart_event()
   con:query("ROLLBACK")
end

function thread_done()
   con:disconnect()
end
