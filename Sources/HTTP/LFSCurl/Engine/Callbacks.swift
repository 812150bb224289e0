import CCurl

// The callbacks that libcurl calls on the engine's thread. The context is the `EasyHandle`, which outlives the
// transfer.

private func handle(_ context: UnsafeMutableRawPointer?) -> EasyHandle? {
    context.map { Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue() }
}

/// Fills libcurl's buffer with the next bytes of the request's body.
let readBody: lfs_transfer_function = { buffer, size, count, context in
    guard let handle = handle(context), let transfer = handle.transfer, let buffer else {
        return Int(CURL_READFUNC_ABORT)
    }
    let room = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
    guard let granted = handle.loop.grantSend(room.count, to: transfer) else { return Int(CURL_READFUNC_PAUSE) }
    return transfer.read(into: UnsafeMutableRawBufferPointer(rebasing: room.prefix(granted)))
        ?? Int(CURL_READFUNC_ABORT)
}

/// Receives bytes of the reply's body.
let writeBody: lfs_transfer_function = { bytes, size, count, context in
    guard let handle = handle(context), let transfer = handle.transfer else { return 0 }
    let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
    guard transfer.requireHead(before: piece) else { return piece.isEmpty ? 1 : 0 }
    guard handle.loop.grantReceive(piece.count, to: transfer) else { return Int(CURL_WRITEFUNC_PAUSE) }
    switch transfer.takeBody(piece) {
    case true?: return piece.count
    case false?: return piece.isEmpty ? 1 : 0
    case nil:
        transfer.isReceivePaused = true
        return Int(CURL_WRITEFUNC_PAUSE)
    }
}

/// Receives one line of the reply's head.
let writeHead: lfs_transfer_function = { line, size, count, context in
    guard let handle = handle(context), let transfer = handle.transfer else { return 0 }
    let line = UnsafeRawBufferPointer(start: line, count: size * count)
    return handle.loop.takeHeadLine(line, of: transfer) ? line.count : 0
}

/// Moves back to an earlier position in the request's body.
let seekBody: lfs_seek_function = { context, offset, origin in
    guard let transfer = handle(context)?.transfer, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
    return transfer.seek(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}

/// Records each socket that libcurl opens.
let noteSocket: lfs_socket_function = { context, socket, _ in
    handle(context)?.loop.opened(socket)
    return Int32(CURL_SOCKOPT_OK)
}

/// Records that the server asks for a client certificate. All other messages of libcurl are ignored.
let noteHandshake: lfs_debug_function = { _, type, bytes, count, context in
    guard type == CURLINFO_TEXT, let bytes else { return 0 }
    // libcurl's name for the message CertificateRequest of TLS 1.2 and 1.3.
    let text = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    if text.contains("(IN), TLS handshake, Request CERT") { handle(context)?.isAskedForCertificate = true }
    return 0
}
