-- title: Mitigations of CPU vulnerabilities are active
-- severity: info
-- section: facts
-- says: The kernel works around {active} vulnerabilities of the processor, and leaves {open} open.
-- advice: They cost most where the kernel is entered often. Harmless in itself: only compare runs in which they are alike, and leave them on where others use the machine.
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
