import CommandLineOptions

/// The output options with `auto` resolved.
struct OutputStyle: Sendable {
    let isJSON: Bool
    let isQuiet: Bool
    let isVerbose: Bool
    let progress: ProgressStyle
    let redraws: Bool
    let interval: Double
    /// The log. Nil without a log.
    let log: LogFile?

    /// - Throws: ``UploaderError`` if the log cannot be opened.
    init(_ options: OutputOptions) throws {
        log = try options.logFile.map(LogFile.init(appendingTo:))
        isJSON = options.json
        isQuiet = options.quiet
        isVerbose = options.verbose
        progress = options.quiet ? .none : options.progress
        redraws = progress == .auto && Console.canRedraw
        interval = options.progressInterval.seconds
    }
}
