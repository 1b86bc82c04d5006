-- TCP of the recorder's network namespace and of each other that was seen: `place` is the end of a sentence with the place.
SELECT run, host, t, dt, NULL AS namespace, '' AS place, established, active_opens_per_s, passive_opens_per_s, in_segments_per_s, out_segments_per_s, retransmits_per_s,
    listen_overflows_per_s, delayed_acks_per_s, time_wait
FROM tcp
UNION ALL
SELECT run, host, t, dt, namespace, ' in the network namespace of ' || comm, established, active_opens_per_s, passive_opens_per_s, in_segments_per_s, out_segments_per_s, retransmits_per_s,
    listen_overflows_per_s, delayed_acks_per_s, time_wait
FROM netns
