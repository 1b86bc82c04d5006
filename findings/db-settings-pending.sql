-- title: Changed settings wait for a restart
-- severity: info
-- section: database
-- message: {server} does not run with what its files say: {settings} wait for a restart.
-- advice: The figures are those of the old values. Restart the server before a measurement.
-- ask: db-settings
-- world: database
-- yes: db_setting server=localhost name=shared_buffers value=16384 pending_restart=yes
-- no: db_setting server=localhost name=shared_buffers value=16384
--
-- no: db_setting server=localhost name=work_mem value=4096 origin="configuration file" pending_restart=no
-- As the server itself reports.
SELECT run, host, server, string_agg(DISTINCT name, ', ' ORDER BY name) AS settings
FROM db_setting
WHERE pending_restart = 'yes'
GROUP BY run, host, server
ORDER BY run, host, server
