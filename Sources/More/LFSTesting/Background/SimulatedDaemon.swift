public import Foundation
public import LFSBackground
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A service for background uploads with named faults, for tests of an app. Run it in a second process, so that it
/// outlives the app.
///
/// ```swift
/// try await SimulatedDaemon(spool: folder, faults: .init(seed: 7)).run()     // in the second process
/// let session = try SimulatedDaemon.session(spool: folder)                   // in the app
/// ```
///
/// It sends one task at a time through the HTTP engine of the platform, in any order, and follows redirects as the
/// system does. Equal seeds give equal decisions for equal tasks.
public struct SimulatedDaemon: Sendable {
    /// The faults of a daemon. Shares are between 0 and 1.
    public struct Faults: Hashable, Codable, Sendable {
        package var seed: UInt64
        package var lateShare: Double
        package var repeatedShare: Double
        package var lostShare: Double
        package var lyingShare: Double
        package var stepsToDeath: Int?

        /// Creates the faults of a daemon. Without shares its only fault is the order of tasks.
        ///
        /// - Parameters:
        ///   - seed: the seed of all decisions.
        ///   - lateShare: the share of events that are delivered late, after events of later tasks.
        ///   - repeatedShare: the share of events that are delivered twice.
        ///   - lostShare: the share of events that are never delivered.
        ///   - lyingShare: the share of tasks that are reported as sent without being sent.
        ///   - stepsToDeath: the number of steps after which the process kills itself. Nil for never. A task has three
        ///     steps: begun, sent and reported.
        public init(
            seed: UInt64, lateShare: Double = 0, repeatedShare: Double = 0, lostShare: Double = 0,
            lyingShare: Double = 0, stepsToDeath: Int? = nil
        ) {
            self.seed = seed
            self.lateShare = lateShare
            self.repeatedShare = repeatedShare
            self.lostShare = lostShare
            self.lyingShare = lyingShare
            self.stepsToDeath = stepsToDeath
        }
    }

    private let spool: SpoolFolder
    private let faults: Faults

    /// Creates a daemon.
    ///
    /// - Parameters:
    ///   - url: the folder that it shares with the app, which is created if it is missing.
    ///   - faults: what it does wrong.
    /// - Throws: the system's error if the folder cannot be created.
    public init(spool url: URL, faults: Faults) throws {
        spool = try SpoolFolder(url)
        self.faults = faults
    }

    /// Returns the session of an app process with a daemon in another process.
    ///
    /// An event is removed from the folder before it is delivered. So a process that ends right then loses it, as with
    /// the service of the system.
    ///
    /// - Parameter url: the folder of the daemon, which is created if it is missing.
    /// - Throws: the system's error if the folder cannot be created.
    public static func session(spool url: URL) throws -> any BackgroundSession { try SpooledSession(spool: url) }

    /// Ends the daemon of a folder as soon as it has finished its present task.
    ///
    /// - Throws: the system's error.
    public static func stop(spool url: URL) throws { try SpoolFolder(url).stop() }

    /// Sends tasks until the daemon is stopped or the task is cancelled.
    ///
    /// - Throws: the system's error, and `StorageError.Code.invalidRequest` while another daemon uses the folder.
    public func run() async throws {
        let lock = try spool.lock()
        guard try lock.tryLock(.exclusive) else {
            throw StorageError(.invalidRequest, message: "Another daemon uses the folder \(spool.url.path).")
        }
        var connection = ConnectionOptions()
        connection.allowsPlainHTTP = true
        let transport = DefaultTransport.make(HTTPOptions(connection))
        let result = await Result.catching { try await serve(transport) }
        await transport.shutdown()
        try lock.unlock()
        try result.get()
    }

    private func serve(_ transport: any HTTPTransport) async throws {
        // An earlier daemon has died.
        for name in try spool.names(in: .running) { _ = spool.move(name, from: .running, to: .tasks) }
        var generator = SplitMix(state: faults.seed)
        var late: [SpoolFolder.Ending] = []
        var steps = 0
        func step() {
            steps += 1
            if let last = faults.stepsToDeath, steps >= last { kill(getpid(), SIGKILL) }
        }
        while !spool.isStopped, !Task.isCancelled {
            guard let name = try spool.names(in: .tasks).randomElement(using: &generator) else {
                for ending in late.shuffled(using: &generator) { try spool.write(ending, in: .events) }
                late = []
                await ContinuousClock().wait(for: .milliseconds(5))
                continue
            }
            guard spool.move(name, from: .tasks, to: .running),
                let entry = try spool.read(SpoolFolder.Entry.self, named: name, in: .running)
            else { continue }
            step()
            let lies = generator.isNext(faults.lyingShare)
            let ending =
                lies
                ? SpoolFolder.Ending(label: entry.label, status: 200) : await send(entry, through: transport)
            step()
            if generator.isNext(faults.lateShare) {
                late.append(ending)
            } else if !generator.isNext(faults.lostShare) {
                try spool.write(ending, in: .events)
            }
            if generator.isNext(faults.repeatedShare) { try spool.write(ending, in: .events) }
            spool.remove(name, in: .running)
            step()
        }
    }

    private func send(_ entry: SpoolFolder.Entry, through transport: any HTTPTransport) async -> SpoolFolder.Ending {
        do {
            let file = try Descriptor.openForReading(entry.file.path)
            var url = entry.url
            for count in 0...Self.redirectLimit {
                let response = try await transport.send(Self.request(entry, to: url, body: file))
                let isRedirect = (300..<400).contains(response.status)
                if isRedirect, let next = response.headers["location"].flatMap({ URL(string: $0, relativeTo: url) }) {
                    url = next.absoluteURL
                    continue
                }
                return SpoolFolder.Ending(label: entry.label, status: response.status, isRedirected: count > 0)
            }
            return SpoolFolder.Ending(label: entry.label, reason: "Too many redirects.")
        } catch {
            return SpoolFolder.Ending(label: entry.label, reason: "\(error)")
        }
    }

    private static let redirectLimit = 5

    private static func request(_ entry: SpoolFolder.Entry, to url: URL, body: Descriptor) throws -> HTTPRequest {
        let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        let path = parts?.percentEncodedPath ?? ""
        let query = parts?.percentEncodedQuery.map { "?\($0)" } ?? ""
        let byteCount = try body.status().byteCount
        var request = HTTPRequest(
            .put, origin: try HTTPOrigin(url), target: (path.isEmpty ? "/" : path) + query,
            body: .reading(0..<byteCount) { try body.read(into: $0, at: $1) })
        for (name, value) in entry.headers { try request.headers.set(name, value: value) }
        return request
    }
}

extension SplitMix {
    /// Returns true with a probability.
    fileprivate mutating func isNext(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &self) < share }
}
