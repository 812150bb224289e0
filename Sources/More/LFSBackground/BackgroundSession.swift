public import Foundation

/// A service of the system that uploads files while the app is suspended or does not run.
///
/// A session only moves bytes. ``BackgroundUploads`` makes all decisions, and never relies on an event: events may be
/// lost, repeated, reordered or wrong. `URLSessionBackground` is the implementation for Apple platforms, and
/// `SimulatedDaemon` of `LFSTesting` has one for tests.
public protocol BackgroundSession: Sendable {
    /// Starts a task. Returns when the service has accepted it, which then continues without the app.
    ///
    /// - Throws: an error if no task was started.
    func start(_ task: BackgroundTask) async throws

    /// Returns the labels of the tasks that have not ended. A task without a label has the empty one.
    ///
    /// - Throws: an error if the service does not answer.
    func labels() async throws -> Set<String>

    /// Cancels all tasks with these labels. Returns when they send nothing any more.
    ///
    /// - Throws: an error if a task may still send bytes.
    func cancel(_ labels: Set<String>) async throws

    /// Returns the events that follow, and those that arrived while the app did not run. It is called once.
    func events() -> AsyncStream<BackgroundEvent>

    /// Notifies the system that the app has handled all events and may be suspended again.
    func finishEvents() async
}

/// A task of a ``BackgroundSession``: a PUT request whose body is a file.
public struct BackgroundTask: Sendable {
    /// The text that identifies the task after a relaunch of the app. It contains no secret.
    public var label: String
    /// The signed URL, which is a secret.
    public var url: URL
    /// The header fields of the request. `Content-Length` is the size of the file.
    public var headers: [String: String]
    /// The file with the body.
    public var file: URL

    /// Creates a task.
    package init(label: String, url: URL, headers: [String: String], file: URL) {
        self.label = label
        self.url = url
        self.headers = headers
        self.file = file
    }
}

extension BackgroundTask: CustomStringConvertible, CustomReflectable {
    /// The label.
    public var description: String { label }
    /// A mirror without the URL and the header fields, which are secret.
    public var customMirror: Mirror { Mirror(self, children: ["label": label]) }
}

/// An event of a ``BackgroundSession``.
public enum BackgroundEvent: Hashable, Sendable {
    /// A task has ended.
    case ended(label: String, outcome: BackgroundOutcome)
    /// All events that the system has kept for the app were delivered.
    case allDelivered
}

/// The end of a task as the service reports it.
public enum BackgroundOutcome: Hashable, Sendable {
    /// The server has replied.
    ///
    /// - Parameters:
    ///   - status: the status code.
    ///   - isRedirected: true if the service has followed a redirect. The reply then comes from another server.
    case replied(status: Int, isRedirected: Bool)
    /// The task was cancelled, or the request failed for a reason.
    case failed(String)

    /// The reason of a failure. Nil if the bytes may have arrived.
    var failure: String? {
        switch self {
        case .replied(_, isRedirected: true): "The server redirected the request."
        case .replied(let status, _): (200..<300).contains(status) ? nil : "The server answered \(status)."
        case .failed(let reason): reason
        }
    }
}
