/// The intervals and limits of streams that stay open.
struct LiveTimes: Sendable {
    /// The interval at which commits of other processes are looked for.
    var poll = Duration.seconds(1)
    /// The longest time without a line. A client regards a minute of silence as a dead connection.
    var heartbeat = Duration.seconds(15)
    /// The longest duration of a stream. The client then requests another one, before a proxy between the two ends the
    /// stream.
    var longest = Duration.seconds(600)
    var clock: any Clock<Duration> = ContinuousClock()
}
