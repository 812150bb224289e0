/// The intervals and limits of streams that stay open.
struct LiveTimes: Sendable {
    /// The interval at which commits of other processes are looked for, if the database reports only those of this
    /// process.
    var poll = Duration.seconds(1)
    /// The interval at which all sessions are looked at, if the database reports the commits of all processes. It
    /// repairs lost notices and ends the streams of expired sessions.
    var repair = Duration.seconds(30)
    /// The longest time without a line. A client regards a minute of silence as a dead connection.
    var heartbeat = Duration.seconds(15)
    /// The longest duration of a stream. The client then requests another one, before a proxy between the two ends the
    /// stream.
    var longest = Duration.seconds(600)
    var clock: any Clock<Duration> = ContinuousClock()
}
