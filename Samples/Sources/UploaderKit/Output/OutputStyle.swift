/// The output options, with `auto` decided.
struct OutputStyle: Sendable {
    let isJSON: Bool
    let isQuiet: Bool
    let isVerbose: Bool
    let progress: ProgressStyle
    let redraws: Bool
    let interval: Double

    init(_ options: OutputOptions) {
        isJSON = options.json
        isQuiet = options.quiet
        isVerbose = options.verbose
        progress = options.quiet ? .none : options.progress
        redraws = progress == .auto && Console.canRedraw
        interval = options.progressInterval
    }
}
