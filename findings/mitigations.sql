-- title: Mitigations of CPU vulnerabilities are active
-- severity: info
-- section: facts
-- message: The kernel mitigates {active} CPU vulnerabilities and leaves {open} open.
-- advice: They cost most in workloads that enter the kernel often. Harmless in themselves: only compare runs with the same mitigations, and keep them enabled on shared machines.
-- ask: facts
-- yes: text topic=vulnerability name=spectre_v2 phase=start value="Mitigation: Retpolines"
-- yes: text topic=vulnerability name=mds phase=start value=Vulnerable
-- no: text topic=vulnerability name=meltdown phase=start value="Not affected"
SELECT run, host, count(DISTINCT CASE WHEN value LIKE 'Mitigation%' THEN name END) AS active,
    count(DISTINCT CASE WHEN value LIKE 'Vulnerable%' THEN name END) AS open
FROM text
WHERE topic = 'vulnerability'
GROUP BY run, host
HAVING count(CASE WHEN value LIKE 'Mitigation%' OR value LIKE 'Vulnerable%' THEN 1 END) > 0
ORDER BY run, host
