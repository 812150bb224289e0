import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Synchronization

/// Signs requests to one container, sends them, and judges the replies.
///
/// Nothing is retried here but a request that was refused in a way that can be put right: another time, newer
/// credentials; each of them once.
final class AzureClient: Sendable {
    private struct State {
        var signature: (key: String, value: SharedKeySignature)?
        /// Whether a body has been taken since the start, so that the next need not wait for consent.
        var hasUploaded = false
    }

    let place: AzurePlace
    private let version: String
    private let transport: any HTTPTransport
    private let logins: CredentialsCache<AzureLogin>
    private let clock: SigningClock
    private let state = Mutex(State())

    /// From this size on it pays to ask before the first body goes out: a wrong key would cost all of it.
    private static let consentByteCount = 1 << 20

    init(
        _ place: AzurePlace, version: String, transport: any HTTPTransport, logins: CredentialsCache<AzureLogin>,
        clock: SigningClock
    ) {
        self.place = place
        self.version = version
        self.transport = transport
        self.logins = logins
        self.clock = clock
    }

    func requireCredentials() async throws {
        let login = try await logins.credentials()
        if case .key(let key) = login.kind { _ = try signature(key) }
    }

    /// What requests are let in with now.
    func login() async throws -> AzureLogin { try await logins.credentials() }

    /// The service's time, as far as it is known.
    var now: Date { clock.now }

    /// Sends a request and returns its reply, whose status is 2xx, which is Azure's own, and whose request was read in
    /// whole.
    ///
    /// - Throws: ``AzureFailure`` for a refusal, ``StorageError`` for everything else, and what a sink threw.
    func send(_ request: AzureRequest) async throws -> HTTPResponse {
        var corrections: Set<Correction> = []
        var issued = try await logins.current()
        while true {
            let date = clock.now
            let response = try await sendOnce(request, issued.credentials, date)
            if response.head.isSuccess {
                guard response.head.isFromAzure else { throw StorageError.notFromAzure(request.key) }
                try response.requireWhole(request.body, of: request.key)
                if request.body.byteCount > 0 { state.withLock { $0.hasUploaded = true } }
                return response
            }
            let failure = AzureFailure(response, key: request.key, signedAt: date, login: issued.credentials)
            guard let correction = correct(failure, issued, date), corrections.insert(correction).inserted else {
                throw failure
            }
            let former = issued.credentials
            issued = try await logins.current()
            // The provider has given the same credentials again, which the server would refuse again.
            if correction == .credentials, issued.credentials == former { throw failure }
        }
    }

    private enum Correction { case time, credentials }

    /// Learns from a refusal. nil when the same request would be refused again.
    private func correct(
        _ failure: AzureFailure, _ issued: CredentialsCache<AzureLogin>.Issued, _ date: Date
    ) -> Correction? {
        if failure.isClockSkew {
            return failure.serverDate.map { clock.adjust(to: $0, signedAt: date) } == true ? .time : nil
        }
        guard failure.isAboutCredentials else { return nil }
        logins.invalidate(issued)
        return .credentials
    }

    private func sendOnce(_ request: AzureRequest, _ login: AzureLogin, _ date: Date) async throws -> HTTPResponse {
        let path = request.isAboutService ? place.servicePath : place.path(of: request.key)
        var query = request.query.map { "\($0.name)=\(PercentEncoding.query($0.value))" }
        if case .signature(let signed) = login.kind { query.append(signed) }
        let target = query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
        do {
            var http = HTTPRequest(
                request.method, place.origin, target, headers: request.headers, body: request.body,
                reply: request.reply)
            http.stallTimeout = request.stallTimeout
            http.onProgress = request.onProgress
            http.expectsContinue =
                request.body.byteCount >= Self.consentByteCount && !state.withLock(\.hasUploaded)
            try http.headers.set("x-ms-version", request.version ?? version)
            try http.headers.set("x-ms-date", HTTPDate.text(date))
            switch login.kind {
            case .key(let key):
                let field = try signature(key).field(
                    request.method, path: path, query: request.query, headers: http.headers,
                    byteCount: request.body.byteCount)
                try http.headers.set("authorization", field)
            case .token(let token): try http.headers.set("authorization", "Bearer \(token)")
            case .signature: break
            }
            return try await transport.send(http)
        } catch let error as HTTPError {
            throw StorageError(error, key: request.key)
        }
    }

    private func signature(_ key: String) throws(StorageError) -> SharedKeySignature {
        try state.withLock { state throws(StorageError) in
            if let known = state.signature, known.key == key { return known.value }
            let new = try SharedKeySignature(account: place.account, key: key)
            state.signature = (key, new)
            return new
        }
    }
}
