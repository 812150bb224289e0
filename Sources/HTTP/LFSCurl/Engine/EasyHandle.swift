import CCurl
import LFSHTTP
import LFSSystem

/// An easy handle of libcurl, which carries one request after the other. The engine's thread owns it.
///
/// The initializer sets the options that are the same for all requests. ``prepare(_:)`` sets the others for each
/// request.
final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    /// The current transfer.
    private(set) var transfer: Transfer?
    unowned let loop: EventLoop
    private var lines = FieldLines()
    private var errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var uploadBufferSize = 0
    private var replyBufferSize = 0
    private var acceptsGzip = false
    /// True if the handle is set to `https`.
    private var isSecure = true
    private var bypassesProxy = false
    private let allowsPlainHTTP: Bool
    private let proxy: HTTPOptions.Proxy
    private var kind: Kind?
    private var method: HTTPRequest.Method?
    /// The memory of a small body while it is sent, because libcurl does not copy it.
    private var smallBody: UnsafeMutableRawBufferPointer?
    /// True if the server has asked for a client certificate in the handshake of the current transfer. It is known only
    /// while handshakes are observed.
    var isAskedForCertificate = false
    private var observesHandshake = false
    let hasCertificate: Bool
    private let sendsSmallBodiesAtOnce: Bool

    /// A body below this size is sent together with the head, in one system call (libcurl's `MAX_INITIAL_POST_SIZE`).
    private static let smallByteCount = 64 << 10

    /// - Throws: ``HTTPError/Code/invalidRequest`` for options that libcurl rejects.
    init(_ loop: EventLoop, options: HTTPOptions) throws(HTTPError) {
        guard let raw = curl_easy_init() else {
            throw HTTPError(.connectionLost, message: "There is not enough memory for a connection.")
        }
        self.raw = raw
        self.loop = loop
        // Rate limits are applied in the read callback, which is not called for bodies in memory.
        sendsSmallBodiesAtOnce = options.sendLimit == nil
        allowsPlainHTTP = options.allowsPlainHTTP
        proxy = options.proxy
        hasCertificate = options.clientCertificate != nil
        try configure(options)
    }

    deinit {
        curl_easy_cleanup(raw)
        errorText.deallocate()
        smallBody?.deallocate()
    }

    /// Sets all options of a transfer.
    func prepare(_ transfer: Transfer) throws(HTTPError) {
        self.transfer = transfer
        transfer.handle = self
        let request = transfer.request
        errorText[0] = 0
        try set(CURLOPT_URL, text: request.origin.description + request.target)
        try setWay(request.origin)
        isAskedForCertificate = false
        try observeHandshake(request.origin.isSecure && transfer.queue?.hasReplied != true)
        try setMethod(transfer)
        try check(lfs_easy_set_list(raw, CURLOPT_HTTPHEADER, lines.list(for: request)))
        try setReplyBuffer(request)
        try setDecoding(request)
    }

    /// Releases the transfer.
    func release() {
        transfer?.handle = nil
        transfer = nil
    }

    /// libcurl's message for the last error. It names the host, never the query.
    var errorMessage: String { String(cString: errorText) }

    // MARK: Options of one request

    private func setWay(_ origin: HTTPOrigin) throws(HTTPError) {
        if origin.isSecure != isSecure {
            try set(CURLOPT_PROTOCOLS_STR, text: origin.isSecure ? "https" : "http")
            isSecure = origin.isSecure
        }
        // Plain HTTP is allowed for this machine because it does not cross a network. A proxy would send it over one.
        let isDirect = origin.isOnThisMachine && !origin.isSecure && !allowsPlainHTTP
        if isDirect != bypassesProxy {
            if isDirect { try set(CURLOPT_PROXY, text: "") } else { try setProxy(proxy) }
            bypassesProxy = isDirect
        }
    }

    /// Observes the handshake, so that a connection that the server ends can be explained: many servers close it before
    /// the client can read why. libcurl's messages take time, so they are off for servers that reply.
    private func observeHandshake(_ observes: Bool) throws(HTTPError) {
        guard observes != observesHandshake else { return }
        try set(CURLOPT_VERBOSE, value: observes ? 1 : 0)
        observesHandshake = observes
    }

    private func setMethod(_ transfer: Transfer) throws(HTTPError) {
        let request = transfer.request
        switch request.body {
        case .none: try setKind(request.method == .head ? .head : .get)
        case .bytes, .reading:
            if sendsSmallBodiesAtOnce, request.body.byteCount < Self.smallByteCount, !request.expectsContinue {
                try setKind(.post)
                try sendAtOnce(transfer)
            } else {
                try setKind(.upload)
                try sendInPieces(Int(request.body.byteCount))
            }
        }
        guard method != request.method else { return }
        try set(CURLOPT_CUSTOMREQUEST, text: request.method.rawValue)
        method = request.method
    }

    /// The request type as libcurl sees it. The name of the method is set separately.
    private enum Kind { case get, head, post, upload }

    private func setKind(_ new: Kind) throws(HTTPError) {
        guard new != kind else { return }
        // This option resets the three others.
        try set(CURLOPT_HTTPGET, value: 1)
        switch new {
        case .get: break
        case .head: try set(CURLOPT_NOBODY, value: 1)
        case .post: try set(CURLOPT_POST, value: 1)
        case .upload: try set(CURLOPT_UPLOAD, value: 1)
        }
        // CURLOPT_HTTPGET and the options above reset the method's name.
        kind = new
        method = nil
    }

    private func sendAtOnce(_ transfer: Transfer) throws(HTTPError) {
        let buffer = smallBody ?? .allocate(byteCount: Self.smallByteCount, alignment: 16)
        smallBody = buffer
        let count = try transfer.readAll(into: buffer)
        try check(lfs_easy_set_offset(raw, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(count)))
        try check(lfs_easy_set_pointer(raw, CURLOPT_POSTFIELDS, buffer.baseAddress))
    }

    private func sendInPieces(_ byteCount: Int) throws(HTTPError) {
        try check(lfs_easy_set_offset(raw, CURLOPT_INFILESIZE_LARGE, curl_off_t(byteCount)))
        // Large buffers save calls. For small files, a large buffer would cost more than it saves.
        let size = byteCount <= Self.smallByteCount ? 64 << 10 : 512 << 10
        if size != uploadBufferSize {
            try set(CURLOPT_UPLOAD_BUFFERSIZE, value: size)
            uploadBufferSize = size
        }
    }

    /// Sets the size of the receive buffer. libcurl allocates it for each transfer, so a large one is slow for short
    /// replies.
    private func setReplyBuffer(_ request: HTTPRequest) throws(HTTPError) {
        // While the sink is full, libcurl continues to decompress the content of this buffer, up to a thousand times
        // its size.
        let size = if case .sink = request.reply, !request.acceptsGzip { 256 << 10 } else { 16 << 10 }
        guard size != replyBufferSize else { return }
        try set(CURLOPT_BUFFERSIZE, value: size)
        replyBufferSize = size
    }

    /// Enables gzip if the request accepts it. Otherwise libcurl does not decode bodies, whatever encoding the server
    /// names. The encoding of a file is the app's concern.
    private func setDecoding(_ request: HTTPRequest) throws(HTTPError) {
        guard request.acceptsGzip != acceptsGzip else { return }
        if request.acceptsGzip {
            try set(CURLOPT_ACCEPT_ENCODING, text: "gzip")
        } else {
            try check(lfs_easy_set_pointer(raw, CURLOPT_ACCEPT_ENCODING, nil))
        }
        acceptsGzip = request.acceptsGzip
    }

    // MARK: Options of all requests

    private func configure(_ options: HTTPOptions) throws(HTTPError) {
        let me = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_READDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_SEEKDATA, CURLOPT_SOCKOPTDATA,
            CURLOPT_DEBUGDATA, CURLOPT_PRIVATE,
        ] {
            try check(lfs_easy_set_pointer(raw, option, me))
        }
        try check(lfs_easy_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText))
        try check(lfs_easy_set_transfer_function(raw, CURLOPT_READFUNCTION, readBody))
        try check(lfs_easy_set_transfer_function(raw, CURLOPT_WRITEFUNCTION, writeBody))
        try check(lfs_easy_set_transfer_function(raw, CURLOPT_HEADERFUNCTION, writeHead))
        try check(lfs_easy_set_seek_function(raw, CURLOPT_SEEKFUNCTION, seekBody))
        try check(lfs_easy_set_socket_function(raw, CURLOPT_SOCKOPTFUNCTION, noteSocket))
        try check(lfs_easy_set_debug_function(raw, CURLOPT_DEBUGFUNCTION, noteHandshake))
        try configureConnection(options)
        try configureSafety(options)
    }

    private func configureConnection(_ options: HTTPOptions) throws(HTTPError) {
        try set(CURLOPT_NOSIGNAL, value: 1)
        // A running DNS lookup must not delay a cancellation.
        try set(CURLOPT_QUICK_EXIT, value: 1)
        try set(CURLOPT_TCP_KEEPALIVE, value: 1)
        try set(CURLOPT_TCP_KEEPIDLE, value: 30)
        try set(CURLOPT_TCP_KEEPINTVL, value: 15)
        // HTTP/2 would send all large files over one connection, in pieces of 16 KiB with a call or two for each. In a
        // measurement, that took five times the CPU time and nearly twice as long. No storage is known to speak only
        // HTTP/2.
        try set(CURLOPT_HTTP_VERSION, value: lfs_http_version_1_1)
        try set(
            CURLOPT_CONNECTTIMEOUT_MS, value: max(Int(Int32(saturating: options.connectTimeout / .milliseconds(1))), 1))
        // After this time without an answer to `Expect`, the body is sent anyway.
        try set(CURLOPT_EXPECT_100_TIMEOUT_MS, value: 1_000)
        try set(CURLOPT_USERAGENT, text: options.userAgent)
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, value: 1)
        try setProxy(options.proxy)
    }

    private func setProxy(_ proxy: HTTPOptions.Proxy) throws(HTTPError) {
        switch proxy {
        case .environment: try check(lfs_easy_set_pointer(raw, CURLOPT_PROXY, nil))
        // An empty text keeps libcurl from reading the environment.
        case .none: try set(CURLOPT_PROXY, text: "")
        case .url(let url): try set(CURLOPT_PROXY, text: url)
        }
    }

    private func configureSafety(_ options: HTTPOptions) throws(HTTPError) {
        try set(CURLOPT_PROTOCOLS_STR, text: "https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, text: "https")
        try set(CURLOPT_FOLLOWLOCATION, value: 0)
        try set(CURLOPT_UNRESTRICTED_AUTH, value: 0)
        try set(CURLOPT_NETRC, value: lfs_netrc_ignored)
        // Accepts HTTP/0.9 so that the engine can reject such a reply with a precise error: its first bytes show
        // whether it is TLS.
        try set(CURLOPT_HTTP09_ALLOWED, value: 1)
        try set(CURLOPT_DISALLOW_USERNAME_IN_URL, value: 1)
        // The signature covers the unmodified path.
        try set(CURLOPT_PATH_AS_IS, value: 1)
        try set(CURLOPT_SSL_VERIFYPEER, value: 1)
        try set(CURLOPT_SSL_VERIFYHOST, value: 2)
        try set(CURLOPT_SSLVERSION, value: lfs_tls_version_1_2)
        if let path = options.certificateAuthorities {
            try set(CURLOPT_CAINFO, text: path)
            // Otherwise libcurl would also trust the system's folder of authorities.
            try check(lfs_easy_set_pointer(raw, CURLOPT_CAPATH, nil))
        }
        if let client = options.clientCertificate {
            try setClientCertificate(client)
        }
    }

    private func setClientCertificate(_ client: HTTPOptions.ClientCertificate) throws(HTTPError) {
        try set(CURLOPT_SSLCERTTYPE, text: client.isPKCS12 ? "P12" : "PEM")
        try set(CURLOPT_SSLCERT_BLOB, bytes: client.bytes)
        if !client.isPKCS12 { try set(CURLOPT_SSLKEY_BLOB, bytes: client.bytes) }
        try set(CURLOPT_KEYPASSWD, text: client.password)
    }

    private func set(_ option: CURLoption, value: Int) throws(HTTPError) {
        try check(lfs_easy_set_long(raw, option, value))
    }

    private func set(_ option: CURLoption, text: String) throws(HTTPError) {
        try check(lfs_easy_set_text(raw, option, text))
    }

    private func set(_ option: CURLoption, bytes: [UInt8]) throws(HTTPError) {
        let code = bytes.withUnsafeBytes { lfs_easy_set_bytes(raw, option, $0.baseAddress, $0.count) }
        try check(code)
    }

    private func check(_ code: CURLcode) throws(HTTPError) {
        guard code == CURLE_OK else {
            throw HTTPError(
                .invalidRequest, message: "libcurl refuses an option: \(String(cString: curl_easy_strerror(code)))")
        }
    }
}
