import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Synchronization

/// A client for one bucket that signs requests, sends them, and interprets the replies.
///
/// It retries a request only if the server refused the signature for a correctable reason: another region, another
/// time, or expired credentials. Each correction is made once per request.
final class S3Client: Sendable {
    private struct State {
        var region: String
        var place: S3Place
        var signature: SignatureV4?
        /// True if the server has accepted a body since the start. Later uploads then need no `100 Continue`.
        var hasUploaded = false
        /// The number of running multipart uploads of this process for each key.
        var underWay: [ObjectKey: Int] = [:]
    }

    let location: S3Location
    private let dialect: S3Dialect
    private let transport: any HTTPTransport
    private let credentials: CredentialsCache<S3Credentials>
    private let clock: SigningClock
    private let state: Mutex<State>

    /// The size of a first body from which the client waits for `100 Continue`. With wrong credentials, the whole body
    /// would be sent in vain.
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

    /// The bucket's place in the currently known region.
    var place: S3Place { state.withLock { $0.place } }

    /// The currently known region of the bucket.
    var region: String { state.withLock(\.region) }

    func requireCredentials() async throws { _ = try await credentials.credentials() }

    /// Records the start of a multipart upload to the key. Call it before the first request.
    func began(_ key: ObjectKey) { state.withLock { $0.underWay[key, default: 0] += 1 } }

    func ended(_ key: ObjectKey) {
        state.withLock { state in
            let rest = (state.underWay[key] ?? 1) - 1
            state.underWay[key] = rest > 0 ? rest : nil
        }
    }

    /// Returns true if this process runs at most one multipart upload to the key.
    func isAlone(_ key: ObjectKey) -> Bool { state.withLock { ($0.underWay[key] ?? 0) <= 1 } }

    /// Sends a request. Returns its reply if the status is 2xx and the server has read the whole request.
    ///
    /// - Throws: ``S3Failure`` for an error from S3, ``StorageError`` for everything else, and errors thrown by a sink.
    func send(_ request: S3Request) async throws -> HTTPResponse {
        var corrections: Set<Correction> = []
        var issued = try await credentials.current()
        while true {
            let signing = Signing(issued: issued, date: clock.now, region: state.withLock(\.region))
            let response = try await sendOnce(request, signing: signing)
            if response.head.isSuccess {
                guard !response.head.isForeignPage else { throw StorageError.notFromS3(request.key) }
                try response.requireWhole(request.body, of: request.key)
                if request.body.byteCount > 0 { state.withLock { $0.hasUploaded = true } }
                return response
            }
            let failure = S3Failure(
                response, key: request.key, signedAt: signing.date, credentials: issued.credentials,
                isBodiless: request.method == .head, hasCondition: request.headers.hasCondition)
            guard let correction = try correct(failure, signing: signing), corrections.insert(correction).inserted
            else {
                throw failure
            }
            issued = try await credentials.current()
            // The provider returned the same credentials, which the server would refuse again.
            if correction == .credentials, issued.credentials == signing.issued.credentials { throw failure }
        }
    }

    /// Returns the error that a reply with a success status contains.
    func failure(_ head: HTTPResponseHead, reply: ErrorReply, key: ObjectKey) async throws -> S3Failure {
        S3Failure(
            head, reply: reply, key: key, signedAt: clock.now, credentials: try await credentials.credentials())
    }

    /// Returns a URL that anyone may use until it expires.
    ///
    /// - Parameters:
    ///   - query: the parameters, not encoded.
    ///   - headers: the fields that the request must carry.
    func presign(
        _ method: HTTPRequest.Method, key: ObjectKey, query: [(name: String, value: String)] = [],
        headers: HTTPHeaders = [:], expires: Duration
    ) async throws -> URL {
        let keys = try await credentials.credentials()
        let (signature, place) = try signature(for: keys)
        do {
            let path = place.path(of: key)
            let query = try signature.presign(
                method, origin: place.origin, path: path, query: query, headers: headers, expires: expires,
                date: clock.now)
            guard let url = URL(string: "\(place.origin)\(path)?\(query)") else {
                throw StorageError(.invalidRequest, message: "The signed URL cannot be formed.", key: key)
            }
            return url
        } catch let error as HTTPError {
            throw StorageError(error, key: key)
        }
    }

    /// Returns a PUT that anyone may send until it expires. The signature covers the length and all fields.
    ///
    /// - Parameters:
    ///   - query: the parameters, not encoded.
    ///   - fields: the fields that the request must carry, without the length.
    ///   - includesLength: false if the program that sends the request sets its length.
    func presignedPut(
        _ key: ObjectKey, query: [(name: String, value: String)] = [], fields: HTTPHeaders, byteCount: Int64,
        includesLength: Bool, proof: PresignedRequest.Proof? = nil, expires: Duration
    ) async throws -> PresignedRequest {
        var fields = fields
        try fields.set("content-length", value: String(byteCount))
        fields = try dialect.translated(fields, of: .put)
        let url = try await presign(.put, key: key, query: query, headers: fields, expires: expires)
        if !includesLength { fields.remove("content-length") }
        return PresignedRequest(url: url.absoluteString, headers: fields.byName, proof: proof, lifetime: expires)
    }

    private func sendOnce(_ request: S3Request, signing: Signing) async throws -> HTTPResponse {
        let (signature, place) = try signature(for: signing.issued.credentials, in: signing.region)
        let path = place.path(of: request.key)
        let target = request.query.isEmpty ? path : "\(path)?\(PercentEncoding.query(request.query))"
        do {
            var http = HTTPRequest(
                request.method, origin: place.origin, target: target,
                headers: try dialect.translated(request.headers, of: request.method), body: request.body,
                reply: request.reply)
            http.stallTimeout = request.stallTimeout
            http.onProgress = request.onProgress
            http.expectsContinue =
                request.body.byteCount >= Self.consentByteCount && !state.withLock(\.hasUploaded)
            try signature.sign(
                request.method, origin: place.origin, path: path, query: request.query, headers: &http.headers,
                payloadHash: request.payloadHash, date: signing.date)
            return try await transport.send(http)
        } catch let error as HTTPError {
            throw StorageError(error, key: request.key)
        }
    }

    /// - Parameter region: nil for the currently known region.
    private func signature(
        for keys: S3Credentials, in region: String? = nil
    ) throws(StorageError) -> (SignatureV4, S3Place) {
        try state.withLock { state throws(StorageError) in
            // Another request may have learned another region since.
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

    // MARK: Corrections of a signature

    /// The values that one request was signed with.
    ///
    /// A refusal is compared with them, not with the current values. Many requests may be refused at once, and the
    /// first refusal already corrects the values for all of them.
    private struct Signing {
        let issued: CredentialsCache<S3Credentials>.Issued
        let date: Date
        let region: String
    }

    private enum Correction { case time, credentials, region }

    /// Corrects the cause of a refusal. Returns nil if the same request would be refused again.
    private func correct(_ failure: S3Failure, signing: Signing) throws -> Correction? {
        if failure.isClockSkew {
            return failure.serverDate.map { clock.adjust(to: $0, signedAt: signing.date) } == true ? .time : nil
        }
        // A bucket in another region answers 301, or 400 because of the signature's scope.
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
