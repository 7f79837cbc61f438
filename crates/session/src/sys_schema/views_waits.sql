-- Views of `sys` about waits, files and memory.

-- pair waits_global_by_latency
SELECT event_name AS events, count_star AS total, {time:sum_timer_wait} AS total_latency,
  {time:avg_timer_wait} AS avg_latency, {time:max_timer_wait} AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name
WHERE event_name <> 'idle' AND sum_timer_wait > 0
ORDER BY sum_timer_wait DESC;;

-- pair wait_classes_global_by_latency
SELECT SUBSTRING_INDEX(event_name, '/', 3) AS event_class, SUM(count_star) AS total,
  {time:SUM(sum_timer_wait)} AS total_latency, {time:MIN(min_timer_wait)} AS min_latency,
  {time:IFNULL(SUM(sum_timer_wait) / NULLIF(SUM(count_star), 0), 0)} AS avg_latency,
  {time:MAX(max_timer_wait)} AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name
WHERE sum_timer_wait > 0 AND event_name <> 'idle'
GROUP BY SUBSTRING_INDEX(event_name, '/', 3)
ORDER BY SUM(sum_timer_wait) DESC;;

-- pair wait_classes_global_by_avg_latency
SELECT SUBSTRING_INDEX(event_name, '/', 3) AS event_class, SUM(count_star) AS total,
  {time:SUM(sum_timer_wait)} AS total_latency, {time:MIN(min_timer_wait)} AS min_latency,
  {time:IFNULL(SUM(sum_timer_wait) / NULLIF(SUM(count_star), 0), 0)} AS avg_latency,
  {time:MAX(max_timer_wait)} AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name
WHERE sum_timer_wait > 0 AND event_name <> 'idle'
GROUP BY SUBSTRING_INDEX(event_name, '/', 3)
ORDER BY IFNULL(SUM(sum_timer_wait) / NULLIF(SUM(count_star), 0), 0) DESC;;

-- pair io_by_thread_by_latency
SELECT IF(threads.processlist_id IS NULL, SUBSTRING_INDEX(threads.name, '/', -1),
    CONCAT(threads.processlist_user, '@', CONVERT(threads.processlist_host USING utf8mb4))) AS user,
  SUM(waits.count_star) AS total, {time:SUM(waits.sum_timer_wait)} AS total_latency,
  {time:MIN(waits.min_timer_wait)} AS min_latency, {time:AVG(waits.avg_timer_wait)} AS avg_latency,
  {time:MAX(waits.max_timer_wait)} AS max_latency, waits.thread_id AS thread_id, threads.processlist_id AS processlist_id
FROM performance_schema.events_waits_summary_by_thread_by_event_name waits
LEFT JOIN performance_schema.threads threads ON waits.thread_id = threads.thread_id
WHERE waits.event_name LIKE 'wait/io/file/%' AND waits.sum_timer_wait > 0
GROUP BY waits.thread_id, threads.processlist_id,
  IF(threads.processlist_id IS NULL, SUBSTRING_INDEX(threads.name, '/', -1),
    CONCAT(threads.processlist_user, '@', CONVERT(threads.processlist_host USING utf8mb4)))
ORDER BY SUM(waits.sum_timer_wait) DESC;;

-- pair io_global_by_file_by_bytes
SELECT {path:file_name} AS file, count_read AS count_read, {bytes:sum_number_of_bytes_read} AS total_read,
  {bytes:IFNULL(sum_number_of_bytes_read / NULLIF(count_read, 0), 0)} AS avg_read,
  count_write AS count_write, {bytes:sum_number_of_bytes_write} AS total_written,
  {bytes:IFNULL(sum_number_of_bytes_write / NULLIF(count_write, 0), 0.00)} AS avg_write,
  {bytes:sum_number_of_bytes_read + sum_number_of_bytes_write} AS total,
  IFNULL(ROUND(100 - sum_number_of_bytes_read / NULLIF(sum_number_of_bytes_read + sum_number_of_bytes_write, 0) * 100, 2), 0.00)
    AS write_pct
FROM performance_schema.file_summary_by_instance
ORDER BY sum_number_of_bytes_read + sum_number_of_bytes_write DESC;;

-- pair io_global_by_file_by_latency
SELECT {path:file_name} AS file, count_star AS total, {time:sum_timer_wait} AS total_latency,
  count_read AS count_read, {time:sum_timer_read} AS read_latency,
  count_write AS count_write, {time:sum_timer_write} AS write_latency,
  count_misc AS count_misc, {time:sum_timer_misc} AS misc_latency
FROM performance_schema.file_summary_by_instance
ORDER BY sum_timer_wait DESC;;

-- pair io_global_by_wait_by_bytes
SELECT SUBSTRING_INDEX(event_name, '/', -2) AS event_name, count_star AS total, {time:sum_timer_wait} AS total_latency,
  {time:min_timer_wait} AS min_latency, {time:avg_timer_wait} AS avg_latency, {time:max_timer_wait} AS max_latency,
  count_read AS count_read, {bytes:sum_number_of_bytes_read} AS total_read,
  {bytes:IFNULL(sum_number_of_bytes_read / NULLIF(count_read, 0), 0)} AS avg_read,
  count_write AS count_write, {bytes:sum_number_of_bytes_write} AS total_written,
  {bytes:IFNULL(sum_number_of_bytes_write / NULLIF(count_write, 0), 0)} AS avg_written,
  {bytes:sum_number_of_bytes_write + sum_number_of_bytes_read} AS total_requested
FROM performance_schema.file_summary_by_event_name
WHERE event_name LIKE 'wait/io/file/%' AND count_star > 0
ORDER BY sum_number_of_bytes_write + sum_number_of_bytes_read DESC;;

-- pair io_global_by_wait_by_latency
SELECT SUBSTRING_INDEX(event_name, '/', -2) AS event_name, count_star AS total, {time:sum_timer_wait} AS total_latency,
  {time:avg_timer_wait} AS avg_latency, {time:max_timer_wait} AS max_latency, {time:sum_timer_read} AS read_latency,
  {time:sum_timer_write} AS write_latency, {time:sum_timer_misc} AS misc_latency,
  count_read AS count_read, {bytes:sum_number_of_bytes_read} AS total_read,
  {bytes:IFNULL(sum_number_of_bytes_read / NULLIF(count_read, 0), 0)} AS avg_read,
  count_write AS count_write, {bytes:sum_number_of_bytes_write} AS total_written,
  {bytes:IFNULL(sum_number_of_bytes_write / NULLIF(count_write, 0), 0)} AS avg_written
FROM performance_schema.file_summary_by_event_name
WHERE event_name LIKE 'wait/io/file/%' AND count_star > 0
ORDER BY sum_timer_wait DESC;;

-- pair latest_file_io
SELECT IF(threads.processlist_id IS NULL, CONCAT(SUBSTRING_INDEX(threads.name, '/', -1), ':', waits.thread_id),
    CONCAT(threads.processlist_user, '@', CONVERT(threads.processlist_host USING utf8mb4), ':', threads.processlist_id)) AS thread,
  {path:waits.object_name} AS file, {time:waits.timer_wait} AS latency, waits.operation AS operation,
  {bytes:waits.number_of_bytes} AS requested
FROM performance_schema.events_waits_history_long waits
JOIN performance_schema.threads threads ON waits.thread_id = threads.thread_id
WHERE waits.object_name IS NOT NULL AND waits.event_name LIKE 'wait/io/file/%'
ORDER BY waits.timer_start;;

-- pair memory_by_thread_by_current_bytes
SELECT mem.thread_id AS thread_id,
  IF(threads.name = 'thread/sql/one_connection',
    CONCAT(threads.processlist_user, '@', CONVERT(threads.processlist_host USING utf8mb4)),
    REPLACE(threads.name, 'thread/', '')) AS user,
  SUM(mem.current_count_used) AS current_count_used, {bytes:SUM(mem.current_number_of_bytes_used)} AS current_allocated,
  {bytes:IFNULL(SUM(mem.current_number_of_bytes_used) / NULLIF(SUM(mem.current_count_used), 0), 0)} AS current_avg_alloc,
  {bytes:MAX(mem.current_number_of_bytes_used)} AS current_max_alloc,
  {bytes:SUM(mem.sum_number_of_bytes_alloc)} AS total_allocated
FROM performance_schema.memory_summary_by_thread_by_event_name mem
JOIN performance_schema.threads threads ON mem.thread_id = threads.thread_id
GROUP BY mem.thread_id, IF(threads.name = 'thread/sql/one_connection',
    CONCAT(threads.processlist_user, '@', CONVERT(threads.processlist_host USING utf8mb4)),
    REPLACE(threads.name, 'thread/', ''))
ORDER BY SUM(mem.current_number_of_bytes_used) DESC;;

-- pair memory_global_by_current_bytes
SELECT event_name AS event_name, current_count_used AS current_count,
  {bytes:current_number_of_bytes_used} AS current_alloc,
  {bytes:IFNULL(current_number_of_bytes_used / NULLIF(current_count_used, 0), 0)} AS current_avg_alloc,
  high_count_used AS high_count, {bytes:high_number_of_bytes_used} AS high_alloc,
  {bytes:IFNULL(high_number_of_bytes_used / NULLIF(high_count_used, 0), 0)} AS high_avg_alloc
FROM performance_schema.memory_summary_global_by_event_name
WHERE current_number_of_bytes_used > 0
ORDER BY current_number_of_bytes_used DESC;;

-- pair memory_global_total
SELECT {bytes:SUM(current_number_of_bytes_used)} AS total_allocated
FROM performance_schema.memory_summary_global_by_event_name;;

-- view ps_check_lost_instrumentation
SELECT variable_name AS variable_name, variable_value AS variable_value
FROM performance_schema.global_status
WHERE variable_name LIKE 'perf%lost' AND variable_value > 0;;
