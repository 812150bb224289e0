import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSSystem
import Synchronization

/// The engine alone against the yardstick: the same PUTs to the same server that discards them, by this package's
/// engine and by a bare C program on libcurl's multi interface, in turn.
///
///     swift build -c release --product engine-bench && .build/release/engine-bench [ROUNDS [small|large]]
@main
struct EngineBench {
    static func main() async throws {
        let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
        let only = CommandLine.arguments.dropFirst(2).first
        let server = try DiscardServer()
        defer { server.stop() }
        print("rounds: \(rounds), each with the bare C program and the engine in turn; medians")
        for load in [
            Load(name: "10 KiB", word: "small", count: 50_000, byteCount: 10 << 10, connections: 10),
            Load(name: "512 MiB", word: "large", count: 8, byteCount: 512 << 20, connections: 2),
        ] where only == nil || only == load.word {
            try await compare(load, server, rounds)
        }
    }

    private static func compare(_ load: Load, _ server: DiscardServer, _ rounds: Int) async throws {
        let file = try SourceFile(byteCount: load.byteCount)
        defer { file.remove() }
        var (bare, ours): ([Run], [Run]) = ([], [])
        for round in 0..<rounds {
            // Neither always goes first.
            if round.isMultiple(of: 2) { bare.append(try BareCurl.run(load, file, server)) }
            ours.append(try await engineRun(load, file, server))
            if !round.isMultiple(of: 2) { bare.append(try BareCurl.run(load, file, server)) }
        }
        let ratios = zip(ours, bare).map { $1.seconds / $0.seconds }
        print("\(load.count) × \(load.name), \(load.connections) connections")
        for (name, runs) in [("bare C", bare), ("engine", ours)] {
            let seconds = median(runs.map(\.seconds))
            let rate =
                load.byteCount < 1 << 20
                ? "\(Int(Double(load.count) / seconds)) files/s"
                : String(format: "%.2f GB/s", Double(load.count) * Double(load.byteCount) / seconds / 1e9)
            print("  \(name)  \(rate)  CPU \(String(format: "%.2f", median(runs.map(\.cpu)))) s")
        }
        print(
            String(
                format: "  engine / bare C: %.2f (%.2f to %.2f)", median(ratios), ratios.min() ?? 0, ratios.max() ?? 0))
    }

    private static func engineRun(_ load: Load, _ file: SourceFile, _ server: DiscardServer) async throws -> Run {
        var options = HTTPOptions()
        options.allowsPlainHTTP = true
        // As every storage gets its own.
        let engine = DefaultTransport.make(options)
        let origin = try HTTPOrigin(server.url)
        let counter = Counter()
        let cpu = processSeconds()
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<load.connections {
                // As the pool of uploads runs its executors.
                group.addTask(executorPreference: BlockingPool.uploads) {
                    while true {
                        let index = counter.next()
                        guard index < load.count else { return }
                        let request = HTTPRequest(
                            .put, origin, "/bucket/object-\(index)", headers: Self.headers,
                            body: .file(file.descriptor, 0..<Int64(load.byteCount)))
                        let response = try await engine.send(request)
                        guard response.status == 200, response.bytesSent == Int64(load.byteCount) else {
                            throw BenchFailed("the server answered \(response.status)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let run = Run(seconds: (ContinuousClock.now - start) / .seconds(1), cpu: processSeconds() - cpu)
        await engine.shutdown()
        return run
    }

    /// As many and as long as a signed request has them.
    private static let headers: HTTPHeaders = [
        "x-amz-date": "20260101T000000Z", "x-amz-content-sha256": String(repeating: "0", count: 64),
        "content-type": "application/octet-stream", "authorization": String(repeating: "a", count: 200),
    ]

    private static func processSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
}

/// Numbers from 0 on, for several tasks.
private final class Counter: Sendable {
    private let value = Atomic<Int>(0)
    func next() -> Int { value.add(1, ordering: .relaxed).oldValue }
}

/// What is sent.
struct Load: Sendable {
    var name: String
    /// What the command line calls it.
    var word: String
    var count: Int
    var byteCount: Int
    var connections: Int
}

/// What one run took.
struct Run: Sendable {
    var seconds: Double
    var cpu: Double
}

struct BenchFailed: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A file that every PUT sends.
struct SourceFile: Sendable {
    let descriptor: Descriptor
    let url: URL

    init(byteCount: Int) throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("engine-bench-\(UUID().uuidString)")
        guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
            throw BenchFailed("\(url.path) cannot be made")
        }
        let handle = try FileHandle(forWritingTo: url)
        let piece = Data((0..<min(byteCount, 1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        for _ in 0..<byteCount / piece.count { try handle.write(contentsOf: piece) }
        try handle.close()
        descriptor = try Descriptor.openForReading(url.path)
    }

    func remove() { try? FileManager.default.removeItem(at: url) }
}
