import LFSCurl
import LFSHTTP
import LFSURLSession

/// An engine of the transport contract, and the rules that it does not keep.
enum Engine: CaseIterable, Sendable {
    case curl, urlSession

    /// A rule of the contract that not every engine keeps.
    enum Rule {
        case dotSegments, noAcceptField, consent, rateLimits, namedProxy, encodedObjects
        case backPressure, demandsForCredentials, oneThread
    }

    /// The engines for tests of rules that all engines keep.
    static let all = allCases

    /// Returns the engines that keep a rule.
    static func keeping(_ rule: Rule) -> [Engine] { allCases.filter { $0.exceptions[rule] == nil } }

    /// The rules that the engine does not keep, each with its reason.
    var exceptions: [Rule: String] {
        switch self {
        case .curl: [:]
        case .urlSession: Self.exceptionsOfURLSession.merging(Self.exceptionsOnLinux) { reason, _ in reason }
        }
    }

    private static let exceptionsOfURLSession: [Rule: String] = [
        .dotSegments: "Foundation removes them, so the engine refuses such a path.",
        .noAcceptField: "Foundation adds 'Accept: */*'.",
        .consent: "Foundation does not wait for 100 Continue. The body is sent at once.",
        .rateLimits: "Foundation has no limits, so the engine refuses the options.",
        .namedProxy: "The system's settings name the proxy, so the engine refuses another one.",
        .oneThread: "Foundation may deliver each part of a reply on another thread.",
        .encodedObjects: "Foundation always decodes, so the engine refuses an encoded object.",
    ]

    #if os(Linux)
    /// The further exceptions of Foundation on Linux.
    private static let exceptionsOnLinux: [Rule: String] = [
        .backPressure: "A suspended task still receives, into memory.",
        .demandsForCredentials: "A task whose reply has status 401 never ends.",
    ]
    #else
    private static let exceptionsOnLinux: [Rule: String] = [:]
    #endif

    func make(
        _ options: HTTPOptions, time: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) -> any HTTPTransport {
        switch self {
        case .curl: CurlTransport(options, time: time)
        case .urlSession: URLSessionTransport(options, time: time)
        }
    }
}
