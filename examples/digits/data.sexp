; The digits, for every experiment of this folder: 1,500 to train on and 297 held out.
;
;   python examples/digits/make_data.py
;   sexpc build examples/digits/mlp.sexp -o mlp.vmfb
;   sexpgpu-run mlp.vmfb

(defvar fields [(field :pixels :shape [8 8]) (field :label :dtype :i32)])

(defvar train-loader
  (loader :sources [(files ["data/train.parquet"])]
          :fields fields :batch-size 50 :shuffle 1_500 :infinite true))

(defvar test-loader
  (loader :sources [(files ["data/test.parquet"])] :fields fields :batch-size 50))

(defun prepare (batch)
  (list :inputs (field batch :pixels) :targets (field batch :label)))


(defun dense (x name out)
  (scope name
    (linear x (param "w" [(dim x -1) out] :init he-normal) (param "b" [out] :init zeros :decay false))))
