import Synchronization

/// A request of a page to remove the journal from this device. The program removes it after the server has stopped.
public final class RemovalRequest: Sendable {
    /// A removal with its confirmation.
    public struct Demand: Hashable, Sendable {
        /// The data to remove.
        public let removal: JournalRemoval
        /// The number of pictures whose loss the user has confirmed.
        public let lost: Int
    }

    private let state = Mutex<Demand?>(nil)
    private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)

    /// Creates a request that no page has made yet.
    public init() {}

    /// The removal that was requested. Nil for none.
    public var demand: Demand? { state.withLock { $0 } }

    /// Makes the request. A second one has no effect.
    func make(_ demand: Demand) {
        state.withLock { $0 = $0 ?? demand }
        continuation.finish()
    }

    /// Waits until a removal is requested, or until the task is cancelled.
    public func wait() async {
        for await _ in stream {}
    }
}
