/// How streams that stay open go on.
struct LiveTimes: Sendable {
    /// How often what another process has committed is looked for.
    var poll = Duration.seconds(1)
    /// The longest silence: the client takes a minute of it for a connection that is gone.
    var heartbeat = Duration.seconds(15)
    /// After this the client asks again, so that no stream outlives what is between the two.
    var longest = Duration.seconds(600)
    var clock: any Clock<Duration> = ContinuousClock()
}
