/// The limits of ``BackgroundUploads``.
public struct BackgroundOptions: Sendable {
    /// The maximum number of tasks that the service has at a time, from 1 to 100. The default is 50. The system delays
    /// more tasks for longer.
    public var maxTasks = 50
    /// The maximum size of all part files in bytes. The default is 1 GiB.
    public var maxByteCount: Int64 = 1 << 30
    /// The time after which the app uploads a file itself if the service has reported nothing, at most 24 hours
    /// (default). The signatures of presigned requests expire at the end of this time, unless a signing server decides.
    public var loanTime = Duration.seconds(24 * 3_600)

    /// Called after each step that changes something durable, for tests that end the process there.
    package var onStep: @Sendable (_ step: String) -> Void = { _ in }

    /// Creates the default limits.
    public init() {}

    /// The limits within their ranges.
    var withinBounds: BackgroundOptions {
        var options = self
        options.maxTasks = min(max(maxTasks, 1), 100)
        options.loanTime = min(max(loanTime, .seconds(60)), .seconds(24 * 3_600))
        return options
    }
}
