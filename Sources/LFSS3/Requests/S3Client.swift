import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Synchronization

/// Signs requests to one bucket, sends them, and judges the replies.
///
/// Nothing is retried here but a request whose signature the server told to be wrong in a way that can be put right:
/// another region, another time, newer credentials; each of them once.
final class S3Client: Sendable {
    private struct State {
        var region: String
        var place: S3Place
        var signature: SignatureV4?
        /// Whether a body has been taken since the start, so that the next need not wait for consent.
        var hasUploaded = false
        /// How many uploads in parts this process carries out now, for each key.
        var underWay: [ObjectKey: Int] = [:]
    }

    let location: S3Location
    private let dialect: S3Dialect
    private let transport: any HTTPTransport
    private let credentials: CredentialsCache<S3Credentials>
    private let clock: SigningClock
    private let state: Mutex<State>

    /// From this size on it pays to ask before the first body goes out: a wrong key would cost all of it.
    private static let consentByteCount = 1 << 20

    init(
        _ location: S3Location, region: String?, dialect: S3Dialect, transport: any HTTPTransport,
        credentials: CredentialsCache<S3Credentials>, clock: SigningClock
    ) throws(StorageError) {
        self.location = location
        self.dialect = dialect
        self.transport = transport
        self.credentials = credentials
        self.clock = clock
        let region = region ?? dialect.region
        state = Mutex(State(region: region, place: try location.place(in: region)))
    }

    /// Where the bucket is, as far as it is known.
    var place: S3Place { state.withLock { $0.place } }

    func requireCredentials() async throws { _ = try await credentials.credentials() }

    /// An upload in parts to the key begins here, before the server is asked for anything.
    func began(_ key: ObjectKey) { state.withLock { $0.underWay[key, default: 0] += 1 } }

    func ended(_ key: ObjectKey) {
        state.withLock { state in
            let rest = (state.underWay[key] ?? 1) - 1
            state.underWay[key] = rest > 0 ? rest : nil
        }
    }

    /// Whether no more than one upload in parts to the key is carried out here.
    func isAlone(_ key: ObjectKey) -> Bool { state.withLock { ($0.underWay[key] ?? 0) <= 1 } }

    /// Sends a request and returns its reply, whose status is 2xx and whose request was read in whole.
    ///
    /// - Throws: ``S3Failure`` for a refusal, ``StorageError`` for everything else, and what a sink threw.
    func send(_ request: S3Request) async throws -> HTTPResponse {
        var corrections: Set<Correction> = []
        var issued = try await credentials.current()
        while true {
            let signing = Signing(issued: issued, date: clock.now, region: state.withLock(\.region))
            let response = try await sendOnce(request, signing)
            if response.head.isSuccess {
                guard !response.head.isForeignPage else { throw StorageError.notFromS3(request.key) }
                try response.requireWhole(request.body, of: request.key)
                if request.body.byteCount > 0 { state.withLock { $0.hasUploaded = true } }
                return response
            }
            let failure = S3Failure(
                response, key: request.key, signedAt: signing.date, credentials: issued.credentials,
                isBodiless: request.method == .head)
            guard let correction = try correct(failure, signing), corrections.insert(correction).inserted else {
                throw failure
            }
            issued = try await credentials.current()
            // The provider has given the same credentials again, which the server would refuse again.
            if correction == .credentials, issued.credentials == signing.issued.credentials { throw failure }
        }
    }

    /// A refusal that came inside a reply whose status is a success.
    func failure(_ head: HTTPResponseHead, _ reply: ErrorReply, _ key: ObjectKey) async throws -> S3Failure {
        S3Failure(
            head, reply: reply, key: key, signedAt: clock.now, credentials: try await credentials.credentials())
    }

    /// A URL that anybody may use for a while.
    ///
    /// - Parameters:
    ///   - query: not encoded.
    ///   - headers: fields that the request must carry.
    func presign(
        _ method: HTTPRequest.Method, _ key: ObjectKey, query: [(name: String, value: String)] = [],
        headers: HTTPHeaders = [:], expires: Duration
    ) async throws -> URL {
        let keys = try await credentials.credentials()
        let (signature, place) = try signature(for: keys)
        do {
            let path = place.path(of: key)
            let query = try signature.presign(
                method, place.origin, path: path, query: query, headers: headers, expires: expires, date: clock.now)
            guard let url = URL(string: "\(place.origin)\(path)?\(query)") else {
                throw StorageError(.invalidRequest, "The signed URL cannot be written.", key: key)
            }
            return url
        } catch let error as HTTPError {
            throw StorageError(error, key: key)
        }
    }

    private func sendOnce(_ request: S3Request, _ signing: Signing) async throws -> HTTPResponse {
        let (signature, place) = try signature(for: signing.issued.credentials, in: signing.region)
        let path = place.path(of: request.key)
        let target = request.query.isEmpty ? path : "\(path)?\(PercentEncoding.query(request.query))"
        do {
            var http = HTTPRequest(
                request.method, place.origin, target,
                headers: try dialect.translated(request.headers, of: request.method), body: request.body,
                reply: request.reply)
            http.stallTimeout = request.stallTimeout
            http.onProgress = request.onProgress
            http.expectsContinue =
                request.body.byteCount >= Self.consentByteCount && !state.withLock(\.hasUploaded)
            try signature.sign(
                request.method, place.origin, path: path, query: request.query, headers: &http.headers,
                payloadHash: request.payloadHash, date: signing.date)
            return try await transport.send(http)
        } catch let error as HTTPError {
            throw StorageError(error, key: request.key)
        }
    }

    /// - Parameter region: nil for the one that is known now.
    private func signature(
        for keys: S3Credentials, in region: String? = nil
    ) throws(StorageError) -> (SignatureV4, S3Place) {
        try state.withLock { state throws(StorageError) in
            // Others may have learned of another region since.
            if let region, region != state.region {
                let signature = SignatureV4(credentials: keys, region: region, dialect: dialect)
                return (signature, try location.place(in: region))
            }
            if let signature = state.signature, signature.credentials == keys, signature.region == state.region {
                return (signature, state.place)
            }
            let signature = SignatureV4(credentials: keys, region: state.region, dialect: dialect)
            state.signature = signature
            return (signature, state.place)
        }
    }

    // MARK: Putting a signature right

    /// What one request was signed with. A refusal is compared with this and not with what is known by then: many may
    /// be refused at once, and the first of them puts right what the others were signed with too.
    private struct Signing {
        let issued: CredentialsCache<S3Credentials>.Issued
        let date: Date
        let region: String
    }

    private enum Correction { case time, credentials, region }

    /// Learns from a refusal. nil when the same request would be refused again.
    private func correct(_ failure: S3Failure, _ signing: Signing) throws -> Correction? {
        if failure.isClockSkew {
            return failure.serverDate.map { clock.adjust(to: $0, signedAt: signing.date) } == true ? .time : nil
        }
        // A bucket that is asked for in the wrong region answers 301, or 400 for the signature's scope.
        if [301, 307, 400, 403].contains(failure.status), let region = failure.region, region != signing.region {
            return try state.withLock { state throws(StorageError) in
                if region != state.region {
                    state.place = try location.place(in: region)
                    state.region = region
                }
                return .region
            }
        }
        guard failure.isAboutCredentials else { return nil }
        credentials.invalidate(signing.issued)
        return .credentials
    }
}
