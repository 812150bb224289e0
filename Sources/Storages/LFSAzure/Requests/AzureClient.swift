import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Synchronization

/// A client for one container that signs requests, sends them, and interprets the replies.
///
/// It retries a request only after a correctable refusal: another time, or expired credentials. Each correction is made
/// once per request.
final class AzureClient: Sendable {
    private struct State {
        var signature: (key: String, value: SharedKeySignature)?
        /// True if the service has accepted a body since the start. Later uploads then need no `100 Continue`.
        var hasUploaded = false
    }

    let place: AzurePlace
    private let version: String
    private let transport: any HTTPTransport
    private let logins: CredentialsCache<AzureLogin>
    private let clock: SigningClock
    private let state = Mutex(State())

    /// The size of a first body from which the client waits for `100 Continue`. With wrong credentials, the whole body
    /// would be sent in vain.
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

    /// Returns the current authentication of requests.
    func login() async throws -> AzureLogin { try await logins.credentials() }

    /// The best known estimate of the service's time.
    var now: Date { clock.now }

    /// Sends a request. Returns its reply if the status is 2xx, Azure sent it, and the service has read the whole
    /// request.
    ///
    /// - Throws: ``AzureFailure`` for an error from Azure, ``StorageError`` for everything else, and errors thrown by a
    ///   sink.
    func send(_ request: AzureRequest) async throws -> HTTPResponse {
        var corrections: Set<Correction> = []
        var issued = try await logins.current()
        while true {
            let date = clock.now
            let response = try await sendOnce(request, login: issued.credentials, date: date)
            if response.head.isSuccess {
                guard response.head.isFromAzure else { throw StorageError.notFromAzure(request.key) }
                try response.requireWhole(request.body, of: request.key)
                if request.body.byteCount > 0 { state.withLock { $0.hasUploaded = true } }
                return response
            }
            let failure = AzureFailure(
                response, key: request.key, signedAt: date, login: issued.credentials,
                hasCondition: request.headers.hasCondition)
            guard let correction = correct(failure, issued: issued, date: date), corrections.insert(correction).inserted
            else {
                throw failure
            }
            let former = issued.credentials
            issued = try await logins.current()
            // The provider returned the same credentials, which the service would refuse again.
            if correction == .credentials, issued.credentials == former { throw failure }
        }
    }

    private enum Correction { case time, credentials }

    /// Corrects the cause of a refusal. Returns nil if the same request would be refused again.
    private func correct(
        _ failure: AzureFailure, issued: CredentialsCache<AzureLogin>.Issued, date: Date
    ) -> Correction? {
        if failure.isClockSkew {
            return failure.serverDate.map { clock.adjust(to: $0, signedAt: date) } == true ? .time : nil
        }
        guard failure.isAboutCredentials else { return nil }
        logins.invalidate(issued)
        return .credentials
    }

    private func sendOnce(_ request: AzureRequest, login: AzureLogin, date: Date) async throws -> HTTPResponse {
        let path = request.isAboutService ? place.servicePath : place.path(of: request.key)
        var query = request.query.map { "\($0.name)=\(PercentEncoding.query($0.value))" }
        if case .signature(let signed) = login.kind { query.append(signed) }
        let target = query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
        do {
            var http = HTTPRequest(
                request.method, origin: place.origin, target: target, headers: request.headers, body: request.body,
                reply: request.reply)
            http.stallTimeout = request.stallTimeout
            http.onProgress = request.onProgress
            http.expectsContinue =
                request.body.byteCount >= Self.consentByteCount && !state.withLock(\.hasUploaded)
            try http.headers.set("x-ms-version", value: request.version ?? version)
            try http.headers.set("x-ms-date", value: HTTPDate.text(date))
            switch login.kind {
            case .key(let key):
                let field = try signature(key).field(
                    request.method, path: path, query: request.query, headers: http.headers,
                    byteCount: request.body.byteCount)
                try http.headers.set("authorization", value: field)
            case .token(let token): try http.headers.set("authorization", value: "Bearer \(token)")
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
