import CCurl
import LFSHTTP
import LFSSystem

/// One easy handle of libcurl, used for one request after the other. Owner: the engine's thread.
///
/// What holds for every request is set once; ``prepare(_:)`` sets everything that differs, each time.
final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    /// What it carries now.
    private(set) var transfer: Transfer?
    unowned let loop: EventLoop
    private var lines = FieldLines()
    private var errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var uploadBufferSize = 0
    private var replyBufferSize = 0
    private var acceptsGzip = false
    /// The protocol that the handle is set to.
    private var isSecure = true
    private var bypassesProxy = false
    private let allowsPlainHTTP: Bool
    private let proxy: HTTPOptions.Proxy
    private var kind: Kind?
    private var method: HTTPRequest.Method?
    /// Holds a small body while it goes out; libcurl does not copy it.
    private var smallBody: UnsafeMutableRawBufferPointer?
    private let sendsSmallBodiesAtOnce: Bool

    /// A body below this size goes out together with the head, in one call (libcurl's `MAX_INITIAL_POST_SIZE`).
    private static let smallByteCount = 64 << 10

    /// - Throws: ``HTTPError/Code/invalidRequest`` for options that libcurl does not take.
    init(_ loop: EventLoop, _ options: HTTPOptions) throws(HTTPError) {
        guard let raw = curl_easy_init() else {
            throw HTTPError(.connectionLost, "There is no memory for a connection.")
        }
        self.raw = raw
        self.loop = loop
        // A rate limit counts in the callback that this way goes without.
        sendsSmallBodiesAtOnce = options.sendLimit == nil
        allowsPlainHTTP = options.allowsPlainHTTP
        proxy = options.proxy
        try configure(options)
    }

    deinit {
        curl_easy_cleanup(raw)
        errorText.deallocate()
        smallBody?.deallocate()
    }

    /// Sets everything up for a transfer.
    func prepare(_ transfer: Transfer) throws(HTTPError) {
        self.transfer = transfer
        transfer.handle = self
        let request = transfer.request
        errorText[0] = 0
        try set(CURLOPT_URL, request.origin.description + request.target)
        try setWay(request.origin)
        try setMethod(transfer)
        try check(lfs_easy_set_list(raw, CURLOPT_HTTPHEADER, lines.list(for: request)))
        try setReplyBuffer(request)
        try setDecoding(request)
    }

    /// Lets go of the transfer.
    func release() {
        transfer?.handle = nil
        transfer = nil
    }

    /// libcurl's own words for what went wrong; they name the host, never the query.
    var errorMessage: String { String(cString: errorText) }

    // MARK: For one request

    private func setWay(_ origin: HTTPOrigin) throws(HTTPError) {
        if origin.isSecure != isSecure {
            try set(CURLOPT_PROTOCOLS_STR, origin.isSecure ? "https" : "http")
            isSecure = origin.isSecure
        }
        // Allowed in the clear because it does not leave this machine: a proxy would carry it away.
        let isDirect = origin.isOnThisMachine && !origin.isSecure && !allowsPlainHTTP
        if isDirect != bypassesProxy {
            if isDirect { try set(CURLOPT_PROXY, "") } else { try setProxy(proxy) }
            bypassesProxy = isDirect
        }
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
        try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        method = request.method
    }

    /// What libcurl takes the request for; the method's name is set apart from that.
    private enum Kind { case get, head, post, upload }

    private func setKind(_ new: Kind) throws(HTTPError) {
        guard new != kind else { return }
        // This one switches the others off.
        try set(CURLOPT_HTTPGET, 1)
        switch new {
        case .get: break
        case .head: try set(CURLOPT_NOBODY, 1)
        case .post: try set(CURLOPT_POST, 1)
        case .upload: try set(CURLOPT_UPLOAD, 1)
        }
        // Both of these forget the method's name.
        (kind, method) = (new, nil)
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
        // Large pieces save calls; for small files the large buffer would cost more than it saves.
        let size = byteCount <= Self.smallByteCount ? 64 << 10 : 512 << 10
        if size != uploadBufferSize {
            try set(CURLOPT_UPLOAD_BUFFERSIZE, size)
            uploadBufferSize = size
        }
    }

    /// libcurl takes this memory for each transfer anew, which costs more than it saves for a short reply.
    private func setReplyBuffer(_ request: HTTPRequest) throws(HTTPError) {
        // While its taker is full libcurl goes on unpacking what is in this memory, to a thousand times of it.
        let size = if case .sink = request.reply, !request.acceptsGzip { 256 << 10 } else { 16 << 10 }
        guard size != replyBufferSize else { return }
        try set(CURLOPT_BUFFERSIZE, size)
        replyBufferSize = size
    }

    /// Without the text bytes come as they are, whatever they are said to be: that of a file is its own business.
    private func setDecoding(_ request: HTTPRequest) throws(HTTPError) {
        guard request.acceptsGzip != acceptsGzip else { return }
        if request.acceptsGzip {
            try set(CURLOPT_ACCEPT_ENCODING, "gzip")
        } else {
            try check(lfs_easy_set_pointer(raw, CURLOPT_ACCEPT_ENCODING, nil))
        }
        acceptsGzip = request.acceptsGzip
    }

    // MARK: For all requests

    private func configure(_ options: HTTPOptions) throws(HTTPError) {
        let me = Unmanaged.passUnretained(self).toOpaque()
        for option in [
            CURLOPT_READDATA, CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_SEEKDATA, CURLOPT_SOCKOPTDATA,
            CURLOPT_PRIVATE,
        ] {
            try check(lfs_easy_set_pointer(raw, option, me))
        }
        try check(lfs_easy_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText))
        try check(lfs_easy_set_transfer_function(raw, CURLOPT_READFUNCTION, readBody))
        try check(lfs_easy_set_transfer_function(raw, CURLOPT_WRITEFUNCTION, writeBody))
        try check(lfs_easy_set_transfer_function(raw, CURLOPT_HEADERFUNCTION, writeHead))
        try check(lfs_easy_set_seek_function(raw, CURLOPT_SEEKFUNCTION, seekBody))
        try check(lfs_easy_set_socket_function(raw, CURLOPT_SOCKOPTFUNCTION, noteSocket))
        try configureConnection(options)
        try configureSafety(options)
    }

    private func configureConnection(_ options: HTTPOptions) throws(HTTPError) {
        try set(CURLOPT_NOSIGNAL, 1)
        // A name that is being looked up must not hold up a cancellation.
        try set(CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_TCP_KEEPIDLE, 30)
        try set(CURLOPT_TCP_KEEPINTVL, 15)
        // HTTP/2 would send all large files over one connection, in pieces of 16 KiB with a call or two for each: that
        // took five times the CPU time and nearly twice as long. Storages that speak it only are not known.
        try set(CURLOPT_HTTP_VERSION, lfs_http_version_1_1)
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(Int(Int32(saturating: options.connectTimeout / .milliseconds(1))), 1))
        // After that long without an answer to `Expect`, the body goes out all the same.
        try set(CURLOPT_EXPECT_100_TIMEOUT_MS, 1_000)
        try set(CURLOPT_USERAGENT, options.userAgent)
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try setProxy(options.proxy)
    }

    private func setProxy(_ proxy: HTTPOptions.Proxy) throws(HTTPError) {
        switch proxy {
        case .environment: try check(lfs_easy_set_pointer(raw, CURLOPT_PROXY, nil))
        // The empty text keeps libcurl from asking the environment.
        case .none: try set(CURLOPT_PROXY, "")
        case .url(let url): try set(CURLOPT_PROXY, url)
        }
    }

    private func configureSafety(_ options: HTTPOptions) throws(HTTPError) {
        try set(CURLOPT_PROTOCOLS_STR, "https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_UNRESTRICTED_AUTH, 0)
        try set(CURLOPT_NETRC, lfs_netrc_ignored)
        // Such a reply is refused by the engine, which sees from its first bytes whether it is TLS.
        try set(CURLOPT_HTTP09_ALLOWED, 1)
        try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // The path was signed as it is.
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, lfs_tls_version_1_2)
        if let path = options.certificateAuthorities {
            try set(CURLOPT_CAINFO, path)
            // The folder of the system's authorities would be trusted besides.
            try check(lfs_easy_set_pointer(raw, CURLOPT_CAPATH, nil))
        }
        if let client = options.clientCertificate {
            try set(CURLOPT_SSLCERT, client.certificate)
            try set(CURLOPT_SSLKEY, client.key)
        }
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPError) {
        try check(lfs_easy_set_long(raw, option, value))
    }

    private func set(_ option: CURLoption, _ text: String) throws(HTTPError) {
        try check(lfs_easy_set_text(raw, option, text))
    }

    private func check(_ code: CURLcode) throws(HTTPError) {
        guard code == CURLE_OK else {
            throw HTTPError(.invalidRequest, "libcurl refuses an option: \(String(cString: curl_easy_strerror(code)))")
        }
    }
}
