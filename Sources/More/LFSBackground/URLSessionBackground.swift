#if canImport(Darwin)
import Foundation
import LFSSystem
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A background session of the system on Apple platforms.
///
/// Create it at each launch, with the same identifier, so that the system delivers the events of earlier tasks. An app
/// and its extensions need different identifiers. Pass the completion handler of the app delegate on:
///
/// ```swift
/// func application(
///     _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
///     completionHandler: @escaping () -> Void
/// ) {
///     session.handleEvents { completionHandler() }
/// }
/// ```
///
/// Source: Apple, "Downloading files in the background" and `URLSessionConfiguration.background(withIdentifier:)`.
public final class URLSessionBackground: BackgroundSession {
    private let session: URLSession
    private let receiver: BackgroundEventReceiver

    /// Creates the session of an identifier.
    ///
    /// - Parameters:
    ///   - identifier: a text that is unique within the app, such as the app's bundle identifier and a word.
    ///   - sharedContainer: the app group of an extension. Nil in an app.
    ///   - isDiscretionary: true to let the system wait for Wi-Fi and power. The default is false.
    ///   - allowsCellularAccess: false to upload on Wi-Fi only. The default is true.
    public init(
        identifier: String, sharedContainer: String? = nil, isDiscretionary: Bool = false,
        allowsCellularAccess: Bool = true
    ) {
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.sharedContainerIdentifier = sharedContainer
        configuration.sessionSendsLaunchEvents = true
        configuration.isDiscretionary = isDiscretionary
        configuration.allowsCellularAccess = allowsCellularAccess
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        receiver = BackgroundEventReceiver()
        session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
    }

    /// Accepts the completion handler of `application(_:handleEventsForBackgroundURLSession:completionHandler:)`, which
    /// is called when all events are handled.
    public func handleEvents(_ completion: @escaping @MainActor @Sendable () -> Void) {
        receiver.completion.withLock { $0 = completion }
    }

    /// Starts an upload task of the system.
    public func start(_ task: BackgroundTask) async {
        var request = URLRequest(url: task.url)
        request.httpMethod = "PUT"
        for (name, value) in task.headers { request.setValue(value, forHTTPHeaderField: name) }
        let upload = session.uploadTask(with: request, fromFile: task.file)
        upload.taskDescription = task.label
        upload.resume()
    }

    /// Returns the labels of the system's tasks.
    public func labels() async -> Set<String> { Set(await tasks().map { $0.taskDescription ?? "" }) }

    /// Cancels the system's tasks, and waits until the session does not list them any more.
    ///
    /// - Throws: `CancellationError`.
    public func cancel(_ labels: Set<String>) async throws {
        while true {
            let tasks = await tasks().filter { labels.contains($0.taskDescription ?? "") }
            if tasks.isEmpty { return }
            for task in tasks { task.cancel() }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private func tasks() async -> [URLSessionTask] {
        await withCheckedContinuation { continuation in
            session.getAllTasks { continuation.resume(returning: $0) }
        }
    }

    /// Returns the events of the system.
    public func events() -> AsyncStream<BackgroundEvent> { receiver.events }

    /// Calls the completion handler of the app delegate, which the system expects on the main thread.
    public func finishEvents() async {
        let completion = receiver.completion.withLock { completion in
            defer { completion = nil }
            return completion
        }
        await completion?()
    }
}

/// The receiver of the system's callbacks. The mutex owns the completion handler.
private final class BackgroundEventReceiver: NSObject, URLSessionTaskDelegate {
    let events: AsyncStream<BackgroundEvent>
    let completion = Mutex<(@MainActor @Sendable () -> Void)?>(nil)
    private let sink: AsyncStream<BackgroundEvent>.Continuation

    override init() {
        let made = AsyncStream.makeStream(of: BackgroundEvent.self)
        events = made.stream
        sink = made.continuation
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let status = (task.response as? HTTPURLResponse)?.statusCode
        let isRedirected = task.currentRequest?.url != task.originalRequest?.url
        let outcome =
            status.map { BackgroundOutcome.replied(status: $0, isRedirected: isRedirected) } ?? .failed("No reply.")
        sink.yield(
            .ended(
                label: task.taskDescription ?? "", outcome: error.map { .failed($0.localizedDescription) } ?? outcome))
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { sink.yield(.allDelivered) }
}
#endif
