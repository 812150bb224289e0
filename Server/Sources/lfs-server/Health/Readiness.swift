import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The checks that decide whether a server can serve requests.
struct Readiness: Sendable {
    let checks: [HealthCheck]

    /// The body of the reply of `/health/ready`.
    struct Report: Codable, Hashable, Sendable {
        struct Check: Codable, Hashable, Sendable {
            /// `ok` or `failed`.
            var status: String
            var message: String?

            fileprivate init(_ outcome: HealthCheck.Outcome) {
                switch outcome {
                case .passed: status = "ok"
                case .failed(let text):
                    status = "failed"
                    message = text
                }
            }
        }

        /// `ready` or `unready`.
        var status: String
        /// The version of the server.
        var version = ServerVersion.text
        var checks: [String: Check]

        /// True if no check fails.
        var isReady: Bool { status == "ready" }
    }

    /// Runs all checks concurrently, unless their outcomes are known.
    func report() async -> Report {
        await withTaskGroup(of: (String, HealthCheck.Outcome).self) { group in
            for check in checks { group.addTask { (check.name, await check.outcome()) } }
            var report = Report(status: "ready", checks: [:])
            for await (name, outcome) in group {
                report.checks[name] = .init(outcome)
                if outcome != .passed { report.status = "unready" }
            }
            return report
        }
    }

    /// Adds `/health/live` with its alias `/health`, and `/health/ready`.
    func addRoutes<Context: RequestContext>(to router: Router<Context>) {
        router.get("health") { _, _ in "ok\n" }
        router.get("health/live") { _, _ in "ok\n" }
        router.get("health/ready") { _, _ in try Self.response(await report()) }
    }

    private static func response(_ report: Report) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = ByteBuffer(bytes: try encoder.encode(report) + Data("\n".utf8))
        return Response(
            status: report.isReady ? .ok : .serviceUnavailable,
            headers: [.contentType: "application/json", .cacheControl: "no-store"], body: ResponseBody(byteBuffer: body)
        )
    }
}
