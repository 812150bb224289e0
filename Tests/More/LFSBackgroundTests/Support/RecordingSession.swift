import Foundation
import LFSBackground
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Synchronization
import Testing

/// A session in memory that a test controls. The mutex owns its state.
final class RecordingSession: BackgroundSession {
    private struct State {
        var tasks: [BackgroundTask] = []
        var cancelled: Set<String> = []
        var finishCount = 0
        var lookCount = 0
        var startError: StorageError?
    }

    private let state = Mutex(State())
    private let stream: AsyncStream<BackgroundEvent>
    private let sink: AsyncStream<BackgroundEvent>.Continuation

    init() {
        let made = AsyncStream.makeStream(of: BackgroundEvent.self)
        stream = made.stream
        sink = made.continuation
    }

    /// The tasks that have not ended.
    var tasks: [BackgroundTask] { state.withLock(\.tasks) }
    var cancelled: Set<String> { state.withLock(\.cancelled) }
    var finishCount: Int { state.withLock(\.finishCount) }
    /// The number of times that the tasks were compared with the loans.
    var lookCount: Int { state.withLock(\.lookCount) }
    /// The error of further starts.
    var startError: StorageError? {
        get { state.withLock(\.startError) }
        set { state.withLock { $0.startError = newValue } }
    }

    // MARK: BackgroundSession

    func start(_ task: BackgroundTask) async throws {
        try state.withLock { state in
            if let error = state.startError { throw error }
            state.tasks.append(task)
        }
    }

    func labels() async -> Set<String> {
        state.withLock { state in
            state.lookCount += 1
            return Set(state.tasks.map(\.label))
        }
    }

    func cancel(_ labels: Set<String>) async {
        state.withLock { state in
            state.tasks.removeAll { labels.contains($0.label) }
            state.cancelled.formUnion(labels)
        }
    }

    func events() -> AsyncStream<BackgroundEvent> { stream }
    func finishEvents() async { state.withLock { $0.finishCount += 1 } }

    // MARK: The service

    /// Sends the request of a task, as the service does.
    ///
    /// - Returns: the status code.
    @discardableResult
    func send(_ task: BackgroundTask) async throws -> Int {
        let body = try Data(contentsOf: task.file)
        let parts = try #require(URLComponents(url: task.url, resolvingAgainstBaseURL: true))
        var request = HTTPRequest(
            .put, origin: try HTTPOrigin(task.url),
            target: "\(parts.percentEncodedPath)?\(parts.percentEncodedQuery ?? "")", body: .bytes(Array(body)))
        for (name, value) in task.headers { try request.headers.set(name, value: value) }
        var connection = ConnectionOptions()
        connection.allowsPlainHTTP = true
        let transport = DefaultTransport.make(HTTPOptions(connection))
        let response = try await transport.send(request)
        await transport.shutdown()
        return response.status
    }

    /// Ends a task without its event.
    func lose(_ task: BackgroundTask) { state.withLock { $0.tasks.removeAll { $0.label == task.label } } }

    /// Delivers the end of a task.
    func end(_ task: BackgroundTask, outcome: BackgroundOutcome = .replied(status: 200, isRedirected: false)) {
        lose(task)
        deliver(.ended(label: task.label, outcome: outcome))
    }

    func deliver(_ event: BackgroundEvent) { sink.yield(event) }
}
