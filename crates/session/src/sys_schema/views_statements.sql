-- Views of `sys` about statements. See mod.rs for what stands in braces.

-- view x$ps_digest_avg_latency_distribution
SELECT COUNT(*) AS cnt, ROUND(avg_timer_wait / 1000000) AS avg_us
FROM performance_schema.events_statements_summary_by_digest
GROUP BY ROUND(avg_timer_wait / 1000000);;

-- view x$ps_digest_95th_percentile_by_avg_us
SELECT ranked.avg_us AS avg_us, ranked.part AS percentile
FROM (SELECT avg_us, SUM(cnt) OVER (ORDER BY avg_us) / SUM(cnt) OVER () AS part FROM sys.x$ps_digest_avg_latency_distribution) ranked
WHERE ranked.part > 0.95
ORDER BY ranked.part
LIMIT 1;;

-- view statement_analysis
SELECT sys.format_statement(digest_text) AS query, schema_name AS db,
  IF(sum_no_good_index_used > 0 OR sum_no_index_used > 0, '*', '') AS full_scan,
  count_star AS exec_count, sum_errors AS err_count, sum_warnings AS warn_count,
  FORMAT_PICO_TIME(sum_timer_wait) AS total_latency, FORMAT_PICO_TIME(max_timer_wait) AS max_latency,
  FORMAT_PICO_TIME(avg_timer_wait) AS avg_latency, FORMAT_PICO_TIME(sum_lock_time) AS lock_latency,
  FORMAT_PICO_TIME(sum_cpu_time) AS cpu_latency,
  sum_rows_sent AS rows_sent, ROUND(IFNULL(sum_rows_sent / NULLIF(count_star, 0), 0)) AS rows_sent_avg,
  sum_rows_examined AS rows_examined, ROUND(IFNULL(sum_rows_examined / NULLIF(count_star, 0), 0)) AS rows_examined_avg,
  sum_rows_affected AS rows_affected, ROUND(IFNULL(sum_rows_affected / NULLIF(count_star, 0), 0)) AS rows_affected_avg,
  sum_created_tmp_tables AS tmp_tables, sum_created_tmp_disk_tables AS tmp_disk_tables,
  sum_sort_rows AS rows_sorted, sum_sort_merge_passes AS sort_merge_passes,
  FORMAT_BYTES(max_controlled_memory) AS max_controlled_memory, FORMAT_BYTES(max_total_memory) AS max_total_memory,
  digest AS digest, first_seen AS first_seen, last_seen AS last_seen
FROM performance_schema.events_statements_summary_by_digest
ORDER BY sum_timer_wait DESC;;

-- view x$statement_analysis
SELECT digest_text AS query, schema_name AS db,
  IF(sum_no_good_index_used > 0 OR sum_no_index_used > 0, '*', '') AS full_scan,
  count_star AS exec_count, count_secondary AS exec_secondary_count, sum_errors AS err_count, sum_warnings AS warn_count,
  sum_timer_wait AS total_latency, max_timer_wait AS max_latency, avg_timer_wait AS avg_latency,
  sum_lock_time AS lock_latency, sum_cpu_time AS cpu_latency,
  sum_rows_sent AS rows_sent, ROUND(IFNULL(sum_rows_sent / NULLIF(count_star, 0), 0)) AS rows_sent_avg,
  sum_rows_examined AS rows_examined, ROUND(IFNULL(sum_rows_examined / NULLIF(count_star, 0), 0)) AS rows_examined_avg,
  sum_rows_affected AS rows_affected, ROUND(IFNULL(sum_rows_affected / NULLIF(count_star, 0), 0)) AS rows_affected_avg,
  sum_created_tmp_tables AS tmp_tables, sum_created_tmp_disk_tables AS tmp_disk_tables,
  sum_sort_rows AS rows_sorted, sum_sort_merge_passes AS sort_merge_passes,
  max_controlled_memory AS max_controlled_memory, max_total_memory AS max_total_memory,
  digest AS digest, first_seen AS first_seen, last_seen AS last_seen
FROM performance_schema.events_statements_summary_by_digest
ORDER BY sum_timer_wait DESC;;

-- pair statements_with_errors_or_warnings
SELECT {statement:digest_text} AS query, schema_name AS db, count_star AS exec_count,
  sum_errors AS errors, IFNULL(sum_errors / NULLIF(count_star, 0), 0) * 100 AS error_pct,
  sum_warnings AS warnings, IFNULL(sum_warnings / NULLIF(count_star, 0), 0) * 100 AS warning_pct,
  first_seen AS first_seen, last_seen AS last_seen, digest AS digest
FROM performance_schema.events_statements_summary_by_digest
WHERE sum_errors > 0 OR sum_warnings > 0
ORDER BY sum_errors DESC, sum_warnings DESC;;

-- pair statements_with_full_table_scans
SELECT {statement:digest_text} AS query, schema_name AS db, count_star AS exec_count,
  {time:sum_timer_wait} AS total_latency,
  sum_no_index_used AS no_index_used_count, sum_no_good_index_used AS no_good_index_used_count,
  ROUND(IFNULL(sum_no_index_used / NULLIF(count_star, 0), 0) * 100) AS no_index_used_pct,
  sum_rows_sent AS rows_sent, sum_rows_examined AS rows_examined,
  ROUND(sum_rows_sent / count_star) AS rows_sent_avg, ROUND(sum_rows_examined / count_star) AS rows_examined_avg,
  first_seen AS first_seen, last_seen AS last_seen, digest AS digest
FROM performance_schema.events_statements_summary_by_digest
WHERE (sum_no_index_used > 0 OR sum_no_good_index_used > 0) AND digest_text NOT LIKE 'SHOW%'
ORDER BY ROUND(IFNULL(sum_no_index_used / NULLIF(count_star, 0), 0) * 100) DESC, sum_timer_wait DESC;;

-- pair statements_with_runtimes_in_95th_percentile
SELECT {statement:digests.digest_text} AS query, digests.schema_name AS db,
  IF(digests.sum_no_good_index_used > 0 OR digests.sum_no_index_used > 0, '*', '') AS full_scan,
  digests.count_star AS exec_count, digests.sum_errors AS err_count, digests.sum_warnings AS warn_count,
  {time:digests.sum_timer_wait} AS total_latency, {time:digests.max_timer_wait} AS max_latency,
  {time:digests.avg_timer_wait} AS avg_latency,
  digests.sum_rows_sent AS rows_sent,
  ROUND(IFNULL(digests.sum_rows_sent / NULLIF(digests.count_star, 0), 0)) AS rows_sent_avg,
  digests.sum_rows_examined AS rows_examined,
  ROUND(IFNULL(digests.sum_rows_examined / NULLIF(digests.count_star, 0), 0)) AS rows_examined_avg,
  digests.first_seen AS first_seen, digests.last_seen AS last_seen, digests.digest AS digest
FROM performance_schema.events_statements_summary_by_digest digests
JOIN sys.x$ps_digest_95th_percentile_by_avg_us slow ON ROUND(digests.avg_timer_wait / 1000000) >= slow.avg_us
ORDER BY digests.avg_timer_wait DESC;;

-- pair statements_with_sorting
SELECT {statement:digest_text} AS query, schema_name AS db, count_star AS exec_count,
  {time:sum_timer_wait} AS total_latency, sum_sort_merge_passes AS sort_merge_passes,
  ROUND(IFNULL(sum_sort_merge_passes / NULLIF(count_star, 0), 0)) AS avg_sort_merges,
  sum_sort_scan AS sorts_using_scans, sum_sort_range AS sort_using_range, sum_sort_rows AS rows_sorted,
  ROUND(IFNULL(sum_sort_rows / NULLIF(count_star, 0), 0)) AS avg_rows_sorted,
  first_seen AS first_seen, last_seen AS last_seen, digest AS digest
FROM performance_schema.events_statements_summary_by_digest
WHERE sum_sort_rows > 0
ORDER BY sum_timer_wait DESC;;

-- pair statements_with_temp_tables
SELECT {statement:digest_text} AS query, schema_name AS db, count_star AS exec_count,
  {time:sum_timer_wait} AS total_latency,
  sum_created_tmp_tables AS memory_tmp_tables, sum_created_tmp_disk_tables AS disk_tmp_tables,
  ROUND(IFNULL(sum_created_tmp_tables / NULLIF(count_star, 0), 0)) AS avg_tmp_tables_per_query,
  ROUND(IFNULL(sum_created_tmp_disk_tables / NULLIF(sum_created_tmp_tables, 0), 0) * 100) AS tmp_tables_to_disk_pct,
  first_seen AS first_seen, last_seen AS last_seen, digest AS digest
FROM performance_schema.events_statements_summary_by_digest
WHERE sum_created_tmp_tables > 0
ORDER BY sum_created_tmp_disk_tables DESC, sum_created_tmp_tables DESC;;
