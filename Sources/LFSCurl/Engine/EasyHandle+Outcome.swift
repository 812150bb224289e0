import CCurl
import LFSHTTP

extension EasyHandle {
    /// What a transfer that libcurl is done with has come to.
    func outcome(_ code: CURLcode) -> Result<HTTPResponse, any Error> {
        guard let transfer else { return .failure(Transfer.cancellation) }
        if let failure = transfer.failure { return .failure(failure) }
        guard code == CURLE_OK else { return .failure(error(code, transfer.request.origin)) }
        var sent: curl_off_t = 0
        _ = lfs_easy_get_offset(raw, CURLINFO_SIZE_UPLOAD_T, &sent)
        transfer.sent(Int64(sent))
        if transfer.head?.isSuccess == true { transfer.accepted(transfer.bytesSent) }
        guard let response = transfer.response else {
            return .failure(HTTPError(.invalidReply, "\(transfer.request.origin.host) sent no reply."))
        }
        return .success(response)
    }

    /// How many bytes of the request's body the peer has accepted: what libcurl has handed to the system, without what
    /// the system still holds. nil while there is no connection.
    ///
    /// Encryption and the head of the request make it less than it is, by no more than what is on its way.
    var acceptedByteCount: Int64? {
        var port = 0
        // libcurl tells the socket itself only when it is done with the request.
        guard lfs_easy_get_long(raw, CURLINFO_LOCAL_PORT, &port) == CURLE_OK, let socket = loop.socket(at: port) else {
            return nil
        }
        let held = lfs_socket_unacknowledged(socket)
        var sent: curl_off_t = 0
        guard held >= 0, lfs_easy_get_offset(raw, CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK else { return nil }
        return Int64(sent) - Int64(held)
    }

    private func error(_ code: CURLcode, _ origin: HTTPOrigin) -> HTTPError {
        let words = errorMessage.isEmpty ? String(cString: curl_easy_strerror(code)) : errorMessage
        let message = "\(origin.host): \(words)"
        if proxyStatus == 407 {
            return HTTPError(.wrongProtocol, "\(message). \(HTTPError.proxyAdvice)")
        }
        return switch code {
        case CURLE_SSL_CONNECT_ERROR where Self.isDisagreement(words):
            HTTPError(
                .wrongProtocol,
                "\(message). Does the port speak https, and TLS 1.2 or newer? It was asked at \(origin).")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_SSL_CONNECT_ERROR:
            HTTPError(.unreachable, message)
        case CURLE_OPERATION_TIMEDOUT:
            // Without a connection there is nobody who was slow.
            HTTPError(isConnected ? .timeout : .unreachable, message)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE, CURLE_SSL_CLIENTCERT:
            HTTPError(.untrusted, message)
        case CURLE_URL_MALFORMAT:
            HTTPError(.invalidRequest, message)
        // The second is a reply without a head (HTTP/0.9).
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR:
            HTTPError(.invalidReply, message)
        default:
            HTTPError(.connectionLost, message)
        }
    }

    /// Whether the two sides have no way to speak with each other, which another try would not change.
    ///
    /// A connection that broke in the handshake has the same code, so this goes by OpenSSL's words.
    private static func isDisagreement(_ words: String) -> Bool {
        [
            "wrong version number", "packet length too long", "record layer failure", "http request",
            "unknown protocol", "unsupported protocol", "no protocols available", "alert protocol version",
            "alert handshake failure",
            "alert insufficient security", "no shared cipher",
        ].contains { words.contains($0) }
    }

    /// What the proxy has answered to CONNECT; 0 when none was asked.
    private var proxyStatus: Int {
        var status = 0
        _ = lfs_easy_get_long(raw, CURLINFO_HTTP_CONNECTCODE, &status)
        return status
    }

    private var isConnected: Bool {
        var microseconds: curl_off_t = 0
        _ = lfs_easy_get_offset(raw, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
        return microseconds > 0
    }
}
