-- Views of `sys` about hosts and users. Each is made twice, `{who}` is host and user, `{other}` the other of them.

-- pair {who}_summary_by_statement_latency
SELECT IF({who} IS NULL, 'background', {who}) AS {who}, SUM(count_star) AS total,
  {time:SUM(sum_timer_wait)} AS total_latency, {time:MAX(max_timer_wait)} AS max_latency,
  {time:SUM(sum_lock_time)} AS lock_latency, {time:SUM(sum_cpu_time)} AS cpu_latency,
  SUM(sum_rows_sent) AS rows_sent, SUM(sum_rows_examined) AS rows_examined, SUM(sum_rows_affected) AS rows_affected,
  SUM(sum_no_index_used) + SUM(sum_no_good_index_used) AS full_scans
FROM performance_schema.events_statements_summary_by_{who}_by_event_name
GROUP BY IF({who} IS NULL, 'background', {who})
ORDER BY SUM(sum_timer_wait) DESC;;

-- pair {who}_summary_by_statement_type
SELECT IF({who} IS NULL, 'background', {who}) AS {who}, SUBSTRING_INDEX(event_name, '/', -1) AS statement,
  count_star AS total, {time:sum_timer_wait} AS total_latency, {time:max_timer_wait} AS max_latency,
  {time:sum_lock_time} AS lock_latency, {time:sum_cpu_time} AS cpu_latency,
  sum_rows_sent AS rows_sent, sum_rows_examined AS rows_examined, sum_rows_affected AS rows_affected,
  sum_no_index_used + sum_no_good_index_used AS full_scans
FROM performance_schema.events_statements_summary_by_{who}_by_event_name
WHERE sum_timer_wait <> 0
ORDER BY IF({who} IS NULL, 'background', {who}), sum_timer_wait DESC;;

-- pair {who}_summary_by_stages
SELECT IF({who} IS NULL, 'background', {who}) AS {who}, event_name AS event_name, count_star AS total,
  {time:sum_timer_wait} AS total_latency, {time:avg_timer_wait} AS avg_latency
FROM performance_schema.events_stages_summary_by_{who}_by_event_name
WHERE sum_timer_wait <> 0
ORDER BY IF({who} IS NULL, 'background', {who}), sum_timer_wait DESC;;

-- pair {who}_summary_by_file_io
SELECT IF({who} IS NULL, 'background', {who}) AS {who}, SUM(count_star) AS ios, {time:SUM(sum_timer_wait)} AS io_latency
FROM performance_schema.events_waits_summary_by_{who}_by_event_name
WHERE event_name LIKE 'wait/io/file/%'
GROUP BY IF({who} IS NULL, 'background', {who})
ORDER BY SUM(sum_timer_wait) DESC;;

-- pair {who}_summary_by_file_io_type
SELECT IF({who} IS NULL, 'background', {who}) AS {who}, event_name AS event_name, count_star AS total,
  {time:sum_timer_wait} AS {latency}, {time:max_timer_wait} AS max_latency
FROM performance_schema.events_waits_summary_by_{who}_by_event_name
WHERE event_name LIKE 'wait/io/file/%' AND count_star > 0
ORDER BY IF({who} IS NULL, 'background', {who}), sum_timer_wait DESC;;

-- pair memory_by_{who}_by_current_bytes
SELECT IF({who} IS NULL, 'background', {who}) AS {who}, SUM(current_count_used) AS current_count_used,
  {bytes:SUM(current_number_of_bytes_used)} AS current_allocated,
  {bytes:IFNULL(SUM(current_number_of_bytes_used) / NULLIF(SUM(current_count_used), 0), 0)} AS current_avg_alloc,
  {bytes:MAX(current_number_of_bytes_used)} AS current_max_alloc,
  {bytes:SUM(sum_number_of_bytes_alloc)} AS total_allocated
FROM performance_schema.memory_summary_by_{who}_by_event_name
GROUP BY IF({who} IS NULL, 'background', {who})
ORDER BY SUM(current_number_of_bytes_used) DESC;;

-- pair {who}_summary
SELECT there.{who} AS {who}, SUM(done.total) AS statements, {time:SUM(done.total_latency)} AS statement_latency,
  {time:IFNULL(SUM(done.total_latency) / NULLIF(SUM(done.total), 0), 0)} AS statement_avg_latency,
  SUM(done.full_scans) AS table_scans, SUM(io.ios) AS file_ios, {time:SUM(io.io_latency)} AS file_io_latency,
  MAX(there.current_connections) AS current_connections, MAX(there.total_connections) AS total_connections,
  MAX(there.others) AS unique_{other}s,
  {bytes:SUM(mem.current_allocated)} AS current_memory, {bytes:SUM(mem.total_allocated)} AS total_memory_allocated
FROM (SELECT IF({who} IS NULL, 'background', {who}) AS {who}, SUM(current_connections) AS current_connections,
    SUM(total_connections) AS total_connections, COUNT(DISTINCT {other}) AS others
  FROM performance_schema.accounts GROUP BY IF({who} IS NULL, 'background', {who})) there
LEFT JOIN sys.x${who}_summary_by_statement_latency done ON there.{who} = done.{who}
LEFT JOIN sys.x${who}_summary_by_file_io io ON there.{who} = io.{who}
LEFT JOIN sys.x$memory_by_{who}_by_current_bytes mem ON there.{who} = mem.{who}
GROUP BY there.{who}
ORDER BY SUM(done.total_latency) DESC;;

-- pair waits_by_{who}_by_latency
SELECT IF({who} IS NULL, 'background', {who}) AS {who}, event_name AS event, count_star AS total,
  {time:sum_timer_wait} AS total_latency, {time:avg_timer_wait} AS avg_latency, {time:max_timer_wait} AS max_latency
FROM performance_schema.events_waits_summary_by_{who}_by_event_name
WHERE event_name <> 'idle' AND sum_timer_wait > 0
ORDER BY IF({who} IS NULL, 'background', {who}), sum_timer_wait DESC;;
