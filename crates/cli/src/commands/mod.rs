//! The commands. Each is one file, with its arguments and `run`, and one line of the list here. No command knows another,
//! except those that are groups (`watch`, `label`, `store`, `list`): what several need is in modules beside this one.

use std::process::ExitCode;

use clap::Subcommand;
use fenxi_remote::Target;

use crate::options::Global;

/// Declares commands by purpose: groups in the order in which the first page of help shows them, and in each a line for
/// a command with its file, its variant of [`Command`] and arguments, and what it does. Its name is that of its file. Those that are hidden are in no group.
macro_rules! commands {
    (
        $($title:literal { $($module:ident $variant:ident($arguments:ident) $about:literal;)+ })+
        hidden { $($hidden:ident $hidden_variant:ident($hidden_arguments:ident) $hidden_about:literal;)+ }
    ) => {
        $($(pub mod $module;)+)+
        $(pub mod $hidden;)+

        /// What to do. Arguments are boxed, as their sizes differ.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($(
                #[doc = $about]
                $variant(Box<$module::$arguments>),
            )+)+
            $(
                #[doc = $hidden_about]
                #[command(hide = true)]
                $hidden_variant(Box<$hidden::$hidden_arguments>),
            )+
        }

        impl Command {
            /// Does it; gives the exit code.
            pub fn run(&self, global: &Global) -> anyhow::Result<ExitCode> {
                match self {
                    $($(Command::$variant(arguments) => $module::run(global, arguments),)+)+
                    $(Command::$hidden_variant(arguments) => $hidden::run(global, arguments),)+
                }
            }
        }

        /// Commands by purpose; each that is not hidden is in one group.
        pub const GROUPS: &[(&str, &[&str])] = &[
            $(($title, &[$(stringify!($module),)+]),)+
        ];
    };
}

impl Command {
    /// The other host at which a live tool is to run, if one is named.
    pub fn elsewhere(&self) -> Option<&Target> {
        match self {
            Command::Mpstat(args) => args.live.on.as_ref(),
            Command::Nicstat(args) => args.live.on.as_ref(),
            Command::Pstime(args) => args.live.on.as_ref(),
            Command::Util(args) => args.accounts.live.on.as_ref(),
            Command::Memstat(args) => args.live.on.as_ref(),
            Command::Dbstat(args) => args.live.on.as_ref(),
            Command::Trace(args) => args.on(),
            Command::Watch(args) => args.on(),
            _ => None,
        }
    }
}

commands! {
    "Record and import" {
        record         Record(RecordArgs)            "Record this machine, optionally while a command runs";
        import         Import(ImportArgs)            "Import output of other tools as a run, or archived runs";
        load           Load(LoadArgs)                "Generate database load, open-loop or closed-loop";
        db             Db(DbCommandArgs)             "Keep snapshots of database servers, and report on two of them";
        study          Study(StudyArgs)              "Run a planned experiment: factors, levels, repeats; resumable";
    }
    "Look at runs" {
        runs           Runs(RunsArgs)                "List runs, latest first";
        show           Show(ShowArgs)                "Show a run: facts, results, tables, recording overhead";
        explain        Explain(ExplainArgs)          "Break down latency or elapsed time; name the bottleneck";
        findings       Findings(FindingsArgs)        "Flag problems in a run, with evidence and advice";
        compare        Compare(CompareArgs)          "Compare groups of runs: effect sizes, confidence intervals";
        trend          Trend(TrendArgs)              "Follow a metric over runs and detect change points";
        ask            Ask(AskArgs)                  "Answer a predefined question, or list all of them";
        sql            Sql(SqlArgs)                  "Query runs in SQL";
        report         Report(ReportArgs)            "Write runs as one self-contained HTML page";
        serve          Serve(ServeArgs)              "Serve the store as web pages and a JSON API";
        mcp            Mcp(McpArgs)                  "Answer language models over the Model Context Protocol";
    }
    "Observe live" {
        watch          Watch(WatchArgs)              "Watch CPUs, network, processes, memory, a database server";
        trace          Trace(TraceArgs)              "Trace system calls, queries, locks, I/O and stacks with eBPF";
    }
    "Keep and share" {
        label          Label(LabelArgs)              "Name, tag or annotate runs; define windows, set marks";
        average        Average(AverageArgs)          "Average runs into a new run, or find the most typical one";
        store          Store(StoreArgs)              "Verify, compact, remove, push, pull and export runs";
        list           List(ListArgs)                "List tables, sources, formats, questions, findings …";
    }
    "Tools" {
        inspect        Inspect(InspectArgs)          "Show build options, libraries and allocator of programs";
        fence          Fence(FenceArgs)              "Isolate a process on dedicated CPUs (cpuset), reversibly";
        tune           Tune(TuneArgs)                "Change settings of network interfaces, reversibly";
        net            Net(NetArgs)                 "Show the packet mix of a load, and find the peak of a network";
        stripe         Stripe(StripeArgs)            "Compare stripe units and record sizes for what a run does";
        tamp           Tamp(TampArgs)                "Compress and decompress on all cores, in standard formats";
        lsync          Lsync(LsyncArgs)              "Keep two home directories the same, by rsync over ssh";
        format         Format(FormatArgs)            "Write a format: try a description, draft one, check it";
        man            Man(ManArgs)                  "Show the manual page of a command";
        completions    Completions(CompletionsArgs)  "Print a shell's completion script";
    }
    hidden {
        agent          Agent(AgentArgs)              "Sample this host for `fenxi record --on` of another host";
        complete       Complete(CompleteArgs)        "Print what a command line can go on with, for shells";
        licenses       Licenses(LicensesArgs)        "What `--licenses` is";
        // Names of before, and of tools that are called through links: `renamed.rs`.
        mpstat         Mpstat(MpstatArgs)            "Show utilisation and interrupts of every CPU";
        nicstat        Nicstat(NicstatArgs)          "Show throughput, utilisation and errors of network interfaces";
        pstime         Pstime(PstimeArgs)            "Show CPU time of processes, exact to the nanosecond";
        util           Util(UtilArgs)                "Show CPU utilisation, sampled and measured side by side";
        memstat        Memstat(MemstatArgs)          "Show memory use, and page cache residency of files";
        dbstat         Dbstat(DbstatArgs)            "Show what a database server does, one line an interval";
        tag            Tag(TagArgs)                  "Change the name, tags or remarks of runs";
        window         Window(WindowArgs)            "Define time windows in runs, such as the steady state";
        mark           Mark(MarkArgs)                "Name a moment in a recording in progress, or in a run";
        formats        Formats(FormatsArgs)          "List the formats that can be imported, or describe one";
        tables         Tables(TablesArgs)            "List the tables that can be recorded, or describe one";
        representative Representative(RepresentativeArgs) "Find the most typical run of a group, and its outliers";
        rm             Rm(RmArgs)                    "Remove runs";
        verify         Verify(VerifyArgs)            "Verify runs against their checksums";
        compact        Compact(CompactArgs)          "Move tables of many runs into few large files, reversibly";
        push           Push(PushArgs)                "Copy what is missing to S3-compatible storage or a directory";
        pull           Pull(PullArgs)                "Fetch runs from there";
        export         Export(ExportArgs)            "Export runs to one archive file";
    }
}
